// SPDX-License-Identifier: Apache-2.0
#include "client/ui/ui_server.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/text.h"
#include "base/thread.h"
#include "client/ui/page_files.h"

namespace millrace::ui {
namespace {

constexpr int kWorkers = 3;
constexpr auto kTellEvery = std::chrono::seconds(1);

http::Answer Busy(const std::string& why) {
  http::Answer answer{.status = 503, .body = why + "\n"};
  answer.headers.emplace_back("Retry-After", "5");
  return answer;
}

// Returns the file of the page; null if there is none.
const PageFile* FindFile(const std::string& path) {
  const auto found = std::ranges::find(kPageFiles, path, &PageFile::path);
  return found == kPageFiles.end() ? nullptr : &*found;
}

http::Answer FileAnswer(const PageFile& file) {
  http::Answer answer{.type = std::string(file.type), .body = std::string(file.content)};
  answer.headers.emplace_back("Cache-Control", "no-cache");  // the next `millrace ui` at this port may be a newer one
  return answer;
}

http::Answer EventsAnswer(std::string first) {
  http::Answer answer{.type = "text/event-stream", .body = std::move(first), .stream = true};
  answer.headers.emplace_back("X-Accel-Buffering", "no");  // a proxy passes each event on when it comes
  return answer;
}

std::string EventOf(const std::string& data) { return "event: digest\ndata: " + data + "\n\n"; }

}  // namespace

Result<std::unique_ptr<UiServer>> UiServer::Start(std::uint16_t port, View& view, std::optional<ReverseProxy> proxy) {
  std::unique_ptr<UiServer> server(new UiServer(view));
  MILLRACE_TRY(server->Begin(port, std::move(proxy)));
  return server;
}

Status UiServer::Begin(std::uint16_t port, std::optional<ReverseProxy> proxy) {
  // The gate has to know the port, and nobody knows the address before NewAddress.
  MILLRACE_ASSIGN(
      server_, http::HttpServer::Start("127.0.0.1:" + std::to_string(port),
                                       http::Responder([this](const http::Request& request, const http::Reply& reply) {
                                         Respond(request, reply);
                                       })));
  {
    const std::lock_guard lock(mutex_);
    gate_ = std::make_unique<Gate>(server_->port(), std::move(proxy));
    serving_ = server_.get();
  }
  for (int i = 0; i < kWorkers; ++i) {
    MILLRACE_ASSIGN(std::jthread worker, StartThread([this] {
                      NameThread("ui-ask");
                      Work();
                    }));
    threads_.push_back(std::move(worker));
  }
  MILLRACE_ASSIGN(std::jthread teller, StartThread([this] {
                    NameThread("ui-tell");
                    TellTabs();
                  }));
  threads_.push_back(std::move(teller));
  return Status::Ok();
}

UiServer::~UiServer() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  threads_.clear();  // after this nothing is asked of the master, and nothing is published
  server_.reset();
}

std::string UiServer::NewAddress() {
  return "http://127.0.0.1:" + std::to_string(server_->port()) + "/?token=" + gate_->NewToken();
}

void UiServer::Respond(const http::Request& request, const http::Reply& reply) {
  const auto answer = [&](http::Answer one) { reply(Gate::Harden(WithTag(std::move(one), request))); };
  const http::HttpServer* serving = nullptr;
  {
    const std::lock_guard lock(mutex_);
    serving = serving_;
  }
  if (serving == nullptr) return answer(Busy("It has not started yet."));
  if (std::optional<http::Answer> refused = gate_->Check(request)) return answer(*std::move(refused));
  Query query(request.target);
  if (const PageFile* file = FindFile(query.path())) return answer(FileAnswer(*file));
  if (!query.path().starts_with(Api::kPrefix)) return answer({.status = 404, .body = "there is no such page\n"});
  const bool events = query.path() == std::string(Api::kPrefix) + "events";
  if (events && serving->streams() >= kMostTabs)
    return answer(Busy("Too many tabs show this page: close some of them."));
  const std::lock_guard lock(mutex_);
  if (ends_) return answer(Busy("It ends."));
  if (waiting_.size() >= kMostWaiting) return answer(Busy("Too many requests at a time."));
  waiting_.push_back([this, request, reply, query = std::move(query), events] {
    http::Answer one = events ? EventsAnswer(EventOf(api_.Digest())) : api_.Get(query);
    reply(Gate::Harden(WithTag(std::move(one), request)));
  });
  changed_.notify_all();  // not one, which might be the thread that tells the tabs
}

void UiServer::Work() {
  while (true) {
    std::function<void()> task;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
      if (ends_) return;
      task = std::move(waiting_.front());
      waiting_.pop_front();
    }
    task();
  }
}

void UiServer::TellTabs() {
  auto next = std::chrono::steady_clock::now();
  while (true) {
    {
      std::unique_lock lock(mutex_);
      next = std::max(next + kTellEvery, std::chrono::steady_clock::now());
      if (changed_.wait_until(lock, next, [this] { return ends_; })) return;
    }
    if (server_->streams() > 0) server_->Publish(EventOf(api_.Digest()));
  }
}

}  // namespace millrace::ui
