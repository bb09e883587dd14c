// SPDX-License-Identifier: Apache-2.0
// SchemaWalk visits an interface and every interface that its calls name, directly or within structs and lists, so that
// tests find every call. Thread rule: a value.
#pragma once

#include <capnp/schema.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace millrace {

class SchemaWalk {
 public:
  enum class Through : std::uint8_t {
    kAll,
    kResults,  // the capabilities that a caller receives
  };
  explicit SchemaWalk(capnp::InterfaceSchema from, Through through = Through::kAll) : through_(through) { Visit(from); }

  struct Call {
    std::string name;  // "Master.register"
    std::uint64_t interface;
    std::uint16_t method;
    capnp::InterfaceSchema::Method schema;
  };
  std::vector<Call> calls;

 private:
  void Visit(capnp::InterfaceSchema interface) {
    if (!seen_.insert(interface.getProto().getId()).second) return;
    for (const auto base : interface.getSuperclasses()) Visit(base);
    for (const auto method : interface.getMethods()) {
      calls.push_back({std::string(interface.getShortDisplayName().cStr()) + "." + method.getProto().getName().cStr(),
                       interface.getProto().getId(), static_cast<std::uint16_t>(method.getIndex()), method});
      if (through_ == Through::kAll) Visit(method.getParamType());
      if (!method.isStreaming()) Visit(method.getResultType());
    }
  }
  void Visit(capnp::StructSchema structure) {
    if (!seen_.insert(structure.getProto().getId()).second) return;
    for (const auto field : structure.getFields()) Visit(field.getType());
  }
  void Visit(capnp::Type type) {
    while (type.isList()) type = type.asList().getElementType();
    if (type.isStruct()) Visit(type.asStruct());
    if (type.isInterface()) Visit(type.asInterface());
  }

  const Through through_;
  std::set<std::uint64_t> seen_;
};

}  // namespace millrace
