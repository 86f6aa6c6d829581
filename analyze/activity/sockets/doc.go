// Package sockets has the socket calls of a device's processes, and joins them to requests.
//
// Package controller/profile/sockets records them with a [Writer]. [Decode] returns a [Table]. It
// has slices for an [activity.Sink], and [Table.Waits] and [Table.Requests] for the results.
//
//	kernel ──Writer──▶ raw file ──Decode──▶ Table ──┬── Events ──▶ activity.Sink
//	                              har.Waterfall ────┴── Requests, Waits ──▶ results.json
//
// # Raw file
//
// A file begins with the 8 bytes "EIDSOCK\x01". Each further 136 bytes are a [Record], in the order
// of its fields, with little-endian numbers. A whole file ends with a record of kind E.
package sockets

// Names of the trace of a run, and of its raw file.
const (
	TraceName = "sockets"
	RawFile   = "calls.eidsock"
)
