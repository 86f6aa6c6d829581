// Package api is what goes between a rig and its clients: the messages of JSON-RPC, the parameters
// and results of each method, the events, and the numbers that bound them. The server, the client
// and the description of the interface are all made of these types.
//
// Field names carry their units. A field's "doc" tag is its description in API.md and in the
// OpenRPC document; a tag "limit" is what its values are held against, in words.
package api
