// Package record reads and writes the records that instrumented scripts send.
//
// SCRIPT.md in the folder above specifies the bytes. Input is hostile: all sizes are bounded.
package record

// Code is the meaning of a record.
type Code uint8

// The codes of SCRIPT.md.
const (
	Enter Code = 1 + iota
	Leave
	Caught
	Reopen
	Reclose
	Suspend
	Resume
	Idle
	Gap
	Calls
	Asked
	Answered
	Rig
	Cost
	Happened // a detail
	LongTask
	Start
	End
	Value  // of a point
	Loaded // the page
	Brief  // calls without records
)

// TimeField is the field of a value that is the page time of the values behind it.
const TimeField = 65535

// The codes of Node programs.
const (
	Lag     Code = 32 + iota // of the event loop
	Heap                     // its size
	Planned                  // the call on top plans a callback
	Begins                   // a callback
	Ends
)

// Record is one event of a realm.
type Record struct {
	Code     Code
	Argument uint16
	ID       uint32  // a function, a call or a count
	At       float64 // ms; the number of a value
}

// Cause is the argument of a gap.
type Cause uint16

// The causes of gaps. BatchMissing and BatchInvalid are the rig's
// conclusions. Pages cannot send them.
const (
	RingFull Cause = 1 + iota
	OverQuota
	Unreachable
	BatchMissing // a sequence number never arrived
	BatchInvalid // Decode dropped records
	SwitchedOff  // by the program or its user; pages may send it
)

// String returns the cause in words.
func (c Cause) String() string {
	return map[Cause]string{RingFull: "ring full", OverQuota: "quota", Unreachable: "rig unreachable",
		BatchMissing: "batch missing", BatchInvalid: "invalid records", SwitchedOff: "switched off"}[c]
}

// RealmKind is the kind of a global object.
type RealmKind uint8

// The kinds of realms.
const (
	Window RealmKind = 1 + iota
	Frame
	Worker
	Node
)

// String returns the kind in one word.
func (k RealmKind) String() string {
	return map[RealmKind]string{Window: "window", Frame: "frame", Worker: "worker", Node: "node"}[k]
}

// Batch is one message of a realm.
type Batch struct {
	Kind     RealmKind
	Realm    uint32
	Sequence uint32
	Origin   float64 // performance.timeOrigin, in ms since 1970
	Sent     float64 // page time, in ms
	Records  []Record
	Details  []Detail
	// Dropped counts the invalid records that Decode left out. Calls after them may be misnumbered.
	Dropped int
	// DroppedDetails counts invalid details, and the records of these.
	DroppedDetails int
}

// Detail is the text of a record with the code Happened.
type Detail struct {
	Kind    string  `json:"kind"`
	Message string  `json:"message,omitempty"`
	URL     string  `json:"url,omitempty"`
	Line    int     `json:"line,omitempty"`
	Column  int     `json:"column,omitempty"`
	Tag     string  `json:"tag,omitempty"`
	What    string  `json:"what,omitempty"`
	Stack   []Place `json:"stack,omitempty"`
	// Of a request: µs until the first and the last byte of its response. -1: the page does not state
	// it.
	WaitUS int64 `json:"wait,omitempty"`
	TookUS int64 `json:"took,omitempty"`
}

// Place is an entry of a stack, innermost first.
type Place struct {
	Function string `json:"function,omitempty"`
	URL      string `json:"url,omitempty"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
}
