// Package server is the rig on the network: JSON-RPC over a websocket and HTTP, files, metrics, and
// who may do what. API.md is its specification; the parameters, results and methods stand in
// package wire, and what API.md and the OpenRPC document say of them is made from there and held
// against it by tests.
package server
