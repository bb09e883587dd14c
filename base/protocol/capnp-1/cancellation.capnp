# SPDX-License-Identifier: Apache-2.0
@0xb0a2a6f1d7c35e49;
# Which calls may be cancelled when their caller goes away, for Cap'n Proto from 1.0 on, whose generated code reads this mark.
# `capnp-0` has the file of the same name that is used before.
using Cxx = import "/capnp/c++.capnp";
using allowCancellation = Cxx.allowCancellation;
