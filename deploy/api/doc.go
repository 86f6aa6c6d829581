// Package api has the messages between a rig and its clients: JSON-RPC messages, parameters and
// results of each method, events, and limits. The server, the client and the description of the
// interface use these types.
//
// Field names carry their units. A field's "doc" tag is its description in API.md and in the
// OpenRPC document. A tag "limit" states the limit of its values in words.
package api
