package timeline

import "time"

// The source and kind of the event that reports a write stall. Its data is a [WriteStall].
const (
	WriteStallSource = "record"
	WriteStallKind   = "write-stall"
)

// WriteStall reports that storing one frame took longer than the frame period.
type WriteStall struct {
	Waited time.Duration `json:"waited_ns"`
}
