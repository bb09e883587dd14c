// SPDX-License-Identifier: Apache-2.0
// WaterLevel: keeps the level of shares.h up to date as single claims change.
//
// The capacity that a level needs is piecewise linear in the level. It has an edge where a member's minimum is reached
// (the share begins to grow) and one where its demand is reached (the share stops growing). The edges are kept in one
// order; those below the level have been passed, and sums over both sides are kept. So a change costs O(log), plus
// O(log) for each edge that the level passes. The edge of a demand far above the level is parked somewhat below the
// demand, so that it need not move with each task that ends. All arithmetic is on integers, so the level depends only
// on the claims and not on their history.
//
// Thread rule: one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

namespace millrace::sched {

// A slot is kSlot units.
using Units = std::int64_t;
inline constexpr Units kSlot = Units{1} << 16;
// Returns the weight in units, at least 1; a weight of 1 is kSlot.
[[nodiscard]] Units WeightUnits(double weight);

// The range of units from `from` (included) to `to` (excluded).
struct UnitRange {
  static constexpr Units kNoEnd = INT64_MAX;
  Units from = 0, to = kNoEnd;
  [[nodiscard]] UnitRange Within(const UnitRange& other) const {
    return {std::max(from, other.from), std::min(to, other.to)};
  }
  bool operator==(const UnitRange&) const = default;
};

class WaterLevel {
 public:
  // The bound of a member's share: its minimum (if the level is below it), the level x its weight, or its demand.
  enum class Bound : std::uint8_t { kMinimum, kLevel, kDemand };

  struct Claim {
    Units weight = kSlot;
    Units minimum = 0;  // at most the demand; all together at most the capacity
    Units demand = 0;
    bool operator==(const Claim&) const = default;
  };

  class Member;

 private:
  enum class EdgeKind : std::uint8_t { kMinimum, kDemand };
  struct Edge {
    Units at = 0;  // the share of a member of this weight at the edge; a lower bound for kDemand while it is not passed
    Units weight = 1;
    EdgeKind kind = EdgeKind::kMinimum;
    Member* member = nullptr;
  };
  struct Earlier {
    bool operator()(const Edge& a, const Edge& b) const;
  };
  using Edges = std::set<Edge, Earlier>;

 public:
  // A member is owned by the caller. Id, then name break ties. Requires: a member does not move, is erased before it is
  // destroyed, and no two members have the same id and name.
  class Member {
   public:
    Member(std::string_view name, std::uint32_t id) : id_(id), beginning_(BeginningOf(name)), name_(name) {}
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;
    ~Member() = default;

    [[nodiscard]] std::uint32_t id() const { return id_; }
    [[nodiscard]] std::string_view name() const { return name_; }
    [[nodiscard]] const Claim& claim() const { return claim_; }
    [[nodiscard]] Bound bound() const { return bound_; }
    [[nodiscard]] bool TieBefore(const Member& other) const {
      if (id_ != other.id_) return id_ < other.id_;
      return beginning_ != other.beginning_ ? beginning_ < other.beginning_ : name_ < other.name_;
    }

   private:
    friend class WaterLevel;
    struct EdgePlace {
      Edges::iterator edge;
      bool used = false, passed = false;
    };

    // Returns the first eight bytes of the name as a number that sorts as the name does.
    [[nodiscard]] static std::uint64_t BeginningOf(std::string_view name);

    static constexpr Units kNoEdge = INT64_MAX;

    EdgePlace places_[2];  // by EdgeKind
    std::uint32_t id_;
    std::uint64_t beginning_;
    std::string_view name_;
    // The fields that most changes read.
    Units demand_ahead_ = kNoEdge;  // the edge of the demand, if it is not passed
    Claim claim_;
    Bound bound_ = Bound::kDemand;
    bool listed_ = false;
  };

  void SetCapacity(Units capacity) { capacity_ = capacity; }
  [[nodiscard]] Units capacity() const { return capacity_; }
  void Insert(Member& member, const Claim& claim);
  // Requires: the member is inserted.
  void Change(Member& member, const Claim& claim);
  void Erase(Member& member);
  // Recomputes the level. Until this call, bounds are those of the last level. Appends to *changed the members that
  // have a new bound.
  void RecomputeLevel(std::vector<Member*>* changed);

  // Returns the level in units per unit of weight. Requires: RecomputeLevel() was called after the last change.
  [[nodiscard]] double level() const;
  // Returns the member's share in units. Requires: RecomputeLevel() was called after the last change.
  [[nodiscard]] double Share(const Member& member) const;
  // Returns the share in whole units, rounded down. Requires: the same as Share.
  [[nodiscard]] Units WholeShare(const Member& member) const;
  // Returns the range of capacities for which every member's bound would be the same. Requires: the same as Share.
  [[nodiscard]] UnitRange SteadyCapacities() const;
  // Returns the least capacity with which a member of this weight, if its share follows the level, would have this
  // share. Requires: the same as Share, and SteadyCapacities() contains the result.
  [[nodiscard]] Units CapacityFor(Units share, Units weight) const;
  // Returns true if the member's share, not rounded, is at least `units`. Requires: the same as Share.
  [[nodiscard]] bool SharesAtLeast(const Member& member, Units units) const;

 private:
  // Returns true if a new edge counts as passed: it belongs before an edge that was passed, or it comes just after the
  // passed edges and the level is above it.
  [[nodiscard]] bool IsPassed(const Edge& edge) const;
  void AddEdge(Member& member, EdgeKind kind, Units at);
  void AddDemandEdge(Member& member);
  void EraseEdge(Member& member, EdgeKind kind);
  // Moves a parked edge of a demand to the demand itself, when the level reaches it. Returns false if the edge is not
  // parked.
  bool Unpark(const Edge& edge);
  void Pass(const Edge& edge);
  void Unpass(const Edge& edge);
  // Returns true if the level may rise to this edge.
  [[nodiscard]] bool Reaches(const Edge& edge) const;

  Units capacity_ = 0;
  Units fixed_ = 0;  // shares that do not depend on the level
  Units slope_ = 0;  // weights of the others
  Edges edges_;
  Edges::iterator next_ = edges_.end();  // the first that is not passed
};

}  // namespace millrace::sched
