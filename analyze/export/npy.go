package export

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"

	"github.com/eideticker/eideticker/analyze/render"
)

// npyIntegers are the first fields of a frame, as in CSV.
var npyIntegers = []string{"frame", "sequence", "earliest_ns", "latest_ns", "changed_bytes", "missing_before"}

// NPY writes a structured array for numpy.load with an element per frame. Its first fields are
// npyIntegers as int64. Each series follows as float64, NaN without a value.
func (s *Selection) NPY(ctx context.Context, out io.Writer) error {
	columns, err := s.seriesColumns()
	if err != nil {
		return err
	}
	var fields []render.NPYField
	for _, name := range npyIntegers {
		fields = append(fields, render.NPYField{Name: name, Type: "<i8"})
	}
	for _, c := range columns {
		fields = append(fields, render.NPYField{Name: c.name, Type: "<f8"})
	}
	head, err := render.NPYStructHeader(fields, s.To-s.From)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(out, 1<<16)
	_, _ = w.Write(head) // Flush tells
	gaps := s.gaps()
	var row []byte
	t := s.Reader.Timeline(s.From, s.To)
	for t.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, m := t.Number(), t.Meta()
		missing, _ := gapBefore(gaps, n)
		changed, _, _ := changeSize(t.Change())
		row = row[:0]
		for _, v := range []int64{int64(n), int64(m.Sequence), int64(m.Sampled.Earliest), int64(m.Sampled.Latest),
			changed, int64(missing)} {
			row = binary.LittleEndian.AppendUint64(row, uint64(v))
		}
		for i := range columns {
			row = binary.LittleEndian.AppendUint64(row, math.Float64bits(columns[i].at(n)))
		}
		_, _ = w.Write(row)
	}
	return errors.Join(t.Err(), w.Flush())
}
