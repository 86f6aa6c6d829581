// Package activity describes the activity of a device's processes. A trace has threads with
// calls or samples. It has waits and events. Profilers and traces of other programs are its
// sources.
//
// A reader of a format calls a [Sink]. A [Writer] is the sink that keeps a trace in a file, and a
// [Trace] reads it. Times are integers in ns on the clock of the trace. [Info] states how that
// clock relates to the clock of the recording.
package activity

// Thread is a thread of a process. Its number and its start identify it, because the system
// reuses numbers.
type Thread struct {
	Process     int32  `json:"process"` // number of the process; 0 unknown
	ID          int32  `json:"id"`
	Name        string `json:"name"`
	ProcessName string `json:"process_name"` // such as chromium renderer
	Start       int64  `json:"start_ns"`     // on the clock of the trace; 0: before it
}

// Language is the language of a function, or the part of the system that it belongs to.
type Language uint8

// The languages.
const (
	Unknown Language = iota
	Native           // compiled before the program started
	Script           // JavaScript, compiled or interpreted
	Kernel
	Category // of a browser's own trace, such as a slice named Layout
)

// Function is a function, or a place in a module whose functions have no known names.
type Function struct {
	Name   string `json:"name"` // empty: unknown
	Module string `json:"module"`
	// Offset is that in the module, if the name is unknown. Of a script it is the column; 0 unknown.
	Offset  uint64   `json:"offset"`
	BuildID string   `json:"build_id"`
	File    string   `json:"file"` // of its source, without a query; empty: unknown
	Line    int      `json:"line"` // from 1; 0 unknown
	Lang    Language `json:"language"`
}

// Kind is the kind of an event.
type Kind uint8

// The kinds. Ref and Value depend on them.
const (
	_ Kind = iota
	// Sample: the thread ran with the stack Ref. Value is the CPU time that it stands for, in ns.
	Sample
	// Out: the thread left the CPU with the stack Ref. Value is a Reason.
	Out
	// Woken: the thread can run again. Ref is the thread that woke it; 0 unknown.
	Woken
	// In: the thread runs on a CPU again.
	In
	// Call: the function Ref was called. Value is its call's CPU time until the return; 0 unknown.
	Call
	// Return: the function Ref returned. Value is 1 if the time is the latest possible one.
	Return
	// Slice: the function Ref ran for Value ns. Slices of one thread are nested.
	Slice
	// Instant: something named by the function Ref happened.
	Instant
	// Counter: the counter named by the function Ref has the value Value.
	Counter
	// FlowOut and FlowIn: the flow with the number Value leaves and reaches a thread.
	FlowOut
	FlowIn
	// Lost: the records of the next Value ns are lost. Ref is the number of lost records; 0 unknown.
	// Thread 0: those of all threads. [WriteGap] adds the cause.
	Lost
)

// Reason is the reason for which a thread left its CPU.
type Reason = int64

// The reasons.
const (
	Waits     Reason = iota // until it is woken
	Preempted               // it can run, and another one does
	Ended                   // the thread ended, or its records do
)

// Event is one record.
type Event struct {
	At     int64 // ns on the clock of the trace
	Thread uint32
	Kind   Kind
	Ref    uint32
	Value  int64
}

// Sink takes the records of a trace. Numbers that it returns count from 1. Equal
// functions and stacks have equal numbers. Threads are equal by process, number and start. A later
// name of a thread replaces an earlier one. Events may come in any order.
type Sink interface {
	Thread(Thread) uint32
	Function(Function) uint32
	// Stack adds a function to a stack; 0 is the empty stack.
	Stack(callers, function uint32) uint32
	Event(Event) error
}

// lossModule is the module of functions that stand for causes of gaps.
const lossModule = "lost records"

// WriteGap passes on a gap in the records of a thread, or of all (0), with its cause. The cause is
// an instant just before the gap.
func WriteGap(to Sink, thread uint32, from, until int64, cause string) error {
	why := to.Function(Function{Name: cause, Module: lossModule, Lang: Category})
	if err := to.Event(Event{At: from, Thread: thread, Kind: Instant, Ref: why}); err != nil {
		return err
	}
	return to.Event(Event{At: from, Thread: thread, Kind: Lost, Value: until - from})
}

// CauseOf returns the cause of a gap that a function stands for; empty: it stands for none.
func CauseOf(f Function) string {
	if f.Module != lossModule {
		return ""
	}
	return f.Name
}

// Limits of a trace. A reader that meets more is at the end of a damaged or hostile trace.
const (
	MaxEvents  = 200_000_000
	MaxName    = 300 // bytes
	MaxThreads = 65_536
	MaxDepth   = 4096
)
