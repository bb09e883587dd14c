# SPDX-License-Identifier: Apache-2.0
@0xb0a2a6f1d7c35e49;
# Which calls may be cancelled when their caller goes away, for Cap'n Proto before 1.0: there the call itself says so
# (rpc::AllowCancellation), and this mark has no effect. `capnp-1` has the file of the same name that is used from 1.0 on.
annotation allowCancellation @0xd3b6f0c84e9a2175 (method) :Void;
