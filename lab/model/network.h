// SPDX-License-Identifier: Apache-2.0
// Network: flows that share links max-min fairly, over integer time.
//
// A flow uses one or more links, each with a weight: at rate x, the flow takes weight * x of the link. A transfer
// between two nodes has weight 1 everywhere. The copies of one reduce from many nodes are ONE flow, whose weight on a
// source's link is that source's share of the bytes, so it ends when separate flows would have ended together. Rates
// are weighted max-min: they rise together until a link is full; the flows on that link keep their rates, and the
// others rise further.
//
// Cost: solving for the rates costs O(uses + links log links) over all flows, too much for each of millions of events.
// With at most `exact_flows` flows, rates are solved at every event and are exact at every moment. With more, rates are
// solved again at most once per quantum = flows * quantum_per_flow. In between, a new flow gets an equal share of its
// narrowest link, and the bandwidth of a finished flow stays unused. So the error of a transfer time is at most about
// one quantum, and a link may exceed its capacity for as long as one quantum. Bytes are conserved either way.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"

namespace millrace::sim {

using LinkId = std::uint32_t;
using FlowId = std::uint32_t;  // used again after the flow has ended

struct LinkUse {
  LinkId link = 0;
  double weight = 1;  // above 0
};

class Network {
 public:
  explicit Network(std::uint32_t exact_flows = 64, Micros quantum_per_flow = 2'000);

  // Requires: bytes_per_second > 0.
  LinkId AddLink(double bytes_per_second);
  // Starts a flow, which Advance reports with its `tag`. Without links the flow ends at once. Requires: each link
  // occurs at most once, and bytes >= 0. This call and those below require that `now` never goes back.
  FlowId Start(Micros now, std::span<const LinkUse> uses, double bytes, std::uint64_t tag);
  // Ends the flow, which is then not reported. Returns the bytes that it has not carried. Requires: the flow runs.
  double Stop(Micros now, FlowId flow);

  // Returns the next moment at which a flow ends or rates change, no earlier than now; nothing if there are no flows.
  // Advance must be called no later than at that moment.
  [[nodiscard]] std::optional<Micros> NextChange(Micros now);
  // Appends the tags of the flows that have ended by now, ordered by end time and, where those are equal, by the order
  // in which they were started.
  void Advance(Micros now, std::vector<std::uint64_t>* ended);

  [[nodiscard]] std::size_t flows() const { return active_.size(); }
  // Returns the current bytes per second; infinity for an unlimited flow.
  [[nodiscard]] double Rate(FlowId flow) const { return flows_[flow].rate; }
  [[nodiscard]] double Left(Micros now, FlowId flow) const;

 private:
  struct Use {
    LinkId link;
    double weight;
    std::uint32_t place;  // in Link::flows
  };
  struct Flow {
    std::vector<Use> uses;
    double left = 0, rate = 0;
    Micros since = 0;   // the time of `left`
    Micros finish = 0;  // at this rate
    std::uint64_t tag = 0, serial = 0;
    std::uint32_t version = 0;  // counts changes of `finish`, over all flows that had this id
    std::uint32_t active_place = 0;
    bool fixed = false;
  };
  struct Link {
    double capacity = 0;
    double weights = 0;  // of its flows; summed up since the link was last empty
    double free = 0;     // while solving
    double open = 0;     // weights of flows not fixed yet
    std::uint32_t open_flows = 0;
    std::uint32_t busy_place = 0;
    std::vector<std::pair<FlowId, std::uint32_t>> flows;  // each with the number of its use
  };
  struct Finish {
    Micros at;
    std::uint64_t serial;
    FlowId flow;
    std::uint32_t version;
    bool operator>(const Finish& other) const { return at != other.at ? at > other.at : serial > other.serial; }
  };

  void Attach(FlowId id);
  void Detach(FlowId id);
  void Settle(Flow& flow, Micros now) const;
  void SetRate(FlowId id, double rate, Micros now);
  [[nodiscard]] double Provisional(const Flow& flow) const;
  [[nodiscard]] bool SolveDue(Micros now) const;
  void Solve(Micros now);
  void PopFinish();
  void Fill();
  void Fix(LinkId link, double level);

  std::uint32_t exact_flows_;
  Micros quantum_per_flow_;
  std::vector<Link> links_;
  std::vector<LinkId> busy_;  // links with flows
  std::vector<Flow> flows_;
  std::vector<FlowId> active_, unused_;
  std::vector<double> levels_;    // by flow id: the solution
  std::vector<Finish> finishes_;  // a heap, the first to end in front; it may contain outdated entries (older versions)
  std::uint64_t serial_ = 0;
  bool dirty_ = false;
  Micros solved_at_ = 0;
};

}  // namespace millrace::sim
