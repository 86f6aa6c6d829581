// Package server is the rig on the network: JSON-RPC over a websocket and HTTP, files, metrics and
// permissions. API.md is its specification. Package api has the parameters, results and methods.
// Tests compare API.md and the OpenRPC document with them.
package server
