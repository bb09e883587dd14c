# SPDX-License-Identifier: Apache-2.0
@0xd1c5a9b27e3f4601;
# What the tests of base/rpc serve.
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("millrace::rpc::wire");

interface Echo {
  ping @0 (bytes :Data) -> (bytes :Data);
  fail @1 (code :Int32, message :Data) -> ();  # always rejects with this Status
  never @2 () -> ();                           # no answer
}
