package recorder

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/eideticker/eideticker/capture"
)

// Input is one of several recordings.
type Input struct {
	Source  capture.Source
	Path    string
	Options Options
}

// Outcome is what became of an input. On an error the result is valid too, as far as it got; its
// Path is empty where nothing was begun.
type Outcome struct {
	Result Result
	Err    error
}

// RecordAll records several sources at once, each into a file of its own and all on one clock. It
// returns when the last of them is done. A source that fails does not stop the others. Rings
// without a given size share the memory that one would take at most. The program's memory and
// scheduling are set once for all. So only one RecordAll may run at a time, unless all recordings
// get the same [Host].
func RecordAll(ctx context.Context, inputs []Input) []Outcome {
	h := prepare(inputs)
	defer h.Close()
	outcomes := make([]Outcome, len(inputs))
	var all errgroup.Group
	for i, in := range inputs {
		all.Go(func() error {
			outcomes[i].Result, outcomes[i].Err = record(ctx, in, h)
			return nil
		})
	}
	_ = all.Wait() // each has its own error
	return outcomes
}
