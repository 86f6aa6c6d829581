package recorder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/eideticker/eideticker/capture"
	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/capture/timeline"
)

// Options say how to record. The zero value records until the source or the context ends.
type Options struct {
	// Duration ends the recording: the first frame that was on the screen that long after the first
	// one is not stored any more. 0 is without end.
	Duration time.Duration
	// RingBytes is the memory between source and recorder; 0 chooses, see ringSize.
	RingBytes int64
	// KeepLast records in a circle and keeps only the last frames of that time. 0 keeps all.
	KeepLast time.Duration
	// CPUs are the processors on which a clocked source's thread may run; see CheckCPUs. Nil is
	// any.
	CPUs     []int
	Force    bool   // overwrite an existing file
	NoDirect bool   // write through the page cache
	Program  string // name and version of the program, for the file's header
	// Metadata is stored beside the source's own.
	Metadata []capture.Metadata
	// Host is what the program has asked of the system for several recordings. Nil: this one asks
	// for itself.
	Host *Host

	// Started is called once, before the first frame, in a goroutine that Record waits for. With
	// emit it may add events until ctx ends, which is when the source does. Nil is nothing.
	Started func(ctx context.Context, emit func(timeline.Event)) error
	// Watch is shown the frames while they are recorded. Nil is nobody.
	Watch Watcher
	// Progress is called several times a second, if not nil.
	Progress func(Progress)
}

// Progress is how far a recording is.
type Progress struct {
	Frames, Missing uint64
	Bytes           int64   // written
	RingFill        float64 // 0 to 1
	// Encoding is the share of the time since the last progress in which the recorder worked on
	// frames. The rest is waiting for one. At 1 the ring fills.
	Encoding float64
}

// Reason says why a recording ended.
type Reason string

const (
	sourceEnded  Reason = "source ended"
	interrupted  Reason = "interrupted"
	durationOver Reason = "duration over"
	sourceFailed Reason = "source failed"
	writeFailed  Reason = "write failed"
)

// Result is what a recording came to.
type Result struct {
	Path   string
	Format frame.Format // of the first segment
	// Segments are the formats that the signal had, in order; one of a mode that delivered no frame
	// counts too.
	Segments []Segment
	Clocked  bool // the source delivered when its signal did
	Ended    Reason
	Account
	Unique   uint64        // stored frames that differ from the one before
	RawBytes int64         // of the stored frames' pixels, as they came
	Bytes    int64         // written for them
	Span     time.Duration // from the first stored frame to the last
	Elapsed  time.Duration // on the rig's clock
	Direct   bool          // the page cache was passed by
	// DirectNote says why not.
	DirectNote string

	RingSlots, RingBytes, RingHighWater int // of the ring that was fullest, where several formats had one each
	// Notes are what the system did not give: huge pages, a priority, memory that stays. Each is
	// said once.
	Notes []string
}

// Segment is what a recording holds of one format.
type Segment struct {
	Format      frame.Format
	First       int              // number of its first frame in the recording
	Frames      int              // stored
	Period      capture.Rational // nominal; 0/0 unknown
	FemtoPeriod int64            // fitted to the frames' times, in femtoseconds; 0 unknown
	Span        time.Duration    // from its first stored frame to its last
}

// Record writes the frames of src to a file at path. The context, the source or the options end it.
// A [capture.Renegotiator] may change its format meanwhile. The file then has a segment for each
// format. On an error the result is valid too. The frames written before it stay, and the file is
// closed.
func Record(ctx context.Context, src capture.Source, path string, o Options) (Result, error) {
	outcome := RecordAll(ctx, []Input{{src, path, o}})[0]
	return outcome.Result, outcome.Err
}

// record makes one of several recordings.
func record(ctx context.Context, in Input, h *Host) (Result, error) {
	r := newRecorder(in.Path, in.Options)
	r.share, r.host = h.share, h
	info := in.Source.Info()
	if err := r.enter(info); err != nil {
		return Result{}, fmt.Errorf("record %s: %w", info.URI, err)
	}
	out, err := openSink(in.Path, info, in.Options)
	if err != nil {
		return Result{}, errors.Join(err, r.leave())
	}
	r.out = out
	res, err := r.record(ctx, in.Source)
	if st, statErr := os.Stat(in.Path); statErr == nil {
		res.Bytes = st.Size()
	}
	if keep, ok := out.(*rolling); ok {
		return keep.finish(res, err)
	}
	return res, err
}
