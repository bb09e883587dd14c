#include "dfs/data/active_writes.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <utility>

#include "dfs/data/write_session.h"

namespace millrace::dfs {

namespace asio = boost::asio;
using net::Awaitable;

void ActiveWrites::Add(std::uint64_t block, const std::shared_ptr<WriteSession>& session) {
  const std::lock_guard lock(mutex_);
  entries_[block].session = session;
}

void ActiveWrites::Remove(std::uint64_t block) {
  std::vector<std::function<void()>> waiting;
  {
    const std::lock_guard lock(mutex_);
    waiting = std::move(entries_[block].waiting);
    entries_.erase(block);
  }
  for (const auto& wake : waiting) wake();
}

Awaitable<void> ActiveWrites::End(std::uint64_t block) {
  const net::Executor executor = co_await asio::this_coro::executor;
  const auto timer = std::make_shared<asio::steady_timer>(executor, asio::steady_timer::time_point::max());
  std::shared_ptr<WriteSession> session;
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(block);
    if (found == entries_.end()) co_return;
    session = found->second.session.lock();
    found->second.waiting.push_back([timer, executor] { asio::post(executor, [timer] { timer->cancel(); }); });
  }
  if (session != nullptr) session->Abort();
  boost::system::error_code ignored;
  co_await timer->async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

}  // namespace millrace::dfs
