package export

import (
	"context"
	"encoding/csv"
	"errors"
	"io"
	"math"
	"strconv"

	"github.com/eideticker/eideticker/capture/frame"
	"github.com/eideticker/eideticker/codec/recording"
)

// CSV writes a line per frame. It decodes no frame: changes are in the file's index.
func (s *Selection) CSV(ctx context.Context, out io.Writer) error {
	w := csv.NewWriter(out)
	columns, err := s.seriesColumns()
	if err != nil {
		return err
	}
	line := []string{"frame", "sequence", "earliest_ns", "latest_ns", "changed_bytes", "changed_rows", "moved_rows",
		"unique", "missing_before", "missing_cause", "flags"}
	for _, c := range columns {
		line = append(line, c.name)
	}
	if err := w.Write(line); err != nil {
		return err
	}
	gaps := s.gaps()
	t := s.Reader.Timeline(s.From, s.To)
	for t.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, m := t.Number(), t.Meta()
		missing, cause := gapBefore(gaps, n)
		changedBytes, rows, moved := changeSize(t.Change())
		line = append(line[:0],
			strconv.Itoa(n), strconv.FormatUint(m.Sequence, 10),
			strconv.FormatInt(int64(m.Sampled.Earliest), 10), strconv.FormatInt(int64(m.Sampled.Latest), 10),
			strconv.FormatInt(changedBytes, 10), strconv.Itoa(rows), strconv.Itoa(moved),
			strconv.FormatBool(n == 0 || changedBytes > 0), strconv.FormatUint(missing, 10), cause, m.Flags.String(),
		)
		for i := range columns {
			cell := ""
			if v := columns[i].at(n); !math.IsNaN(v) {
				cell = strconv.FormatFloat(v, 'g', -1, 64)
			}
			line = append(line, cell)
		}
		if err := w.Write(line); err != nil {
			return err
		}
	}
	w.Flush()
	return errors.Join(t.Err(), w.Error())
}

// gapBefore sums the gaps before frame n.
func gapBefore(gaps []recording.Gap, n int) (missing uint64, cause string) {
	for _, g := range gaps {
		if g.Before == n {
			missing += g.Count
			cause = g.Cause.String()
		}
	}
	return missing, cause
}

// changeSize returns the bytes in the spans of a change, the rows that have spans, and the moved
// rows.
func changeSize(c *frame.Change) (bytes int64, rows, moved int) {
	last := int32(-1)
	for _, s := range c.Spans {
		bytes += int64(s.End - s.Start)
		if s.Row != last {
			rows++
			last = s.Row
		}
	}
	for _, m := range c.Moves {
		moved += int(m.Rows)
	}
	return bytes, rows, moved
}
