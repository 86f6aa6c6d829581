package gecko

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/eideticker/eideticker/analyze/activity/jsonstream"
)

// none is a cell without a number.
const none = math.MinInt64

// maxHeld bounds the memory of tables whose records were not passed on, in bytes.
const maxHeld = 128 << 20

// emptyRow is the memory that a row without numbers may need later, in bytes.
const emptyRow = 32

// table has columns of numbers that are read by row. Texts are numbers in the list of strings.
type table map[string][]int32

// get returns a number, or none.
func (t table) get(column string, row int64) int64 {
	if c := t[column]; row >= 0 && row < int64(len(c)) && c[row] != math.MinInt32 {
		return int64(c[row])
	}
	return none
}

// rows returns the length of a column.
func (t table) rows(column string) int64 { return int64(len(t[column])) }

// put sets the next number of a column. It returns the number of bytes that it takes.
func (t table) put(column string, row, n int64) (bytes int) {
	c, before := t[column], len(t[column])
	for int64(len(c)) < row { // rows may leave out their last cells
		c = append(c, math.MinInt32)
	}
	switch {
	case n == none:
		n = math.MinInt32
	case n != int64(int32(n)) || n == math.MinInt32:
		n = -1 // a number of nothing
	}
	t[column] = append(c, int32(n))
	return 4 * (len(c) + 1 - before)
}

// records has columns of numbers that are read once, in the order of rows.
type records map[string]*column

// column has numbers as differences, in parts. Code 0 is none.
type column struct {
	parts      [][]byte
	rows, read int64
	last       int64 // number that was put or read
}

const columnPart = 32 << 10

// put is that of a table.
func (t records) put(name string, row, n int64) (bytes int) {
	c := t[name]
	if c == nil {
		c = &column{}
		t[name] = c
	}
	for c.rows < row {
		bytes += c.add(none)
	}
	return bytes + c.add(n)
}

func (c *column) add(n int64) (bytes int) {
	k := len(c.parts) - 1
	if k < 0 || len(c.parts[k])+binary.MaxVarintLen64 > cap(c.parts[k]) {
		c.parts = append(c.parts, make([]byte, 0, min(columnPart, max(64, int(c.rows)))))
		k++
		bytes = 24
	}
	c.rows++
	before, code := len(c.parts[k]), uint64(0)
	if n != none {
		d := n - c.last
		code = uint64(d<<1^d>>63) + 1
		if c.last = n; code == 0 { // the greatest difference has none
			code, c.last = 1, n-d
		}
	}
	c.parts[k] = binary.AppendUvarint(c.parts[k], code)
	return bytes + len(c.parts[k]) - before
}

// rows returns the length of a column.
func (t records) rows(name string) int64 {
	if c := t[name]; c != nil {
		return c.rows
	}
	return 0
}

// next returns the next number of a column, or none.
func (t records) next(name string) int64 {
	c := t[name]
	if c == nil || c.read == c.rows {
		return none
	}
	if c.read == 0 {
		c.last = 0
	}
	c.read++
	code, size := binary.Uvarint(c.parts[0])
	if c.parts[0] = c.parts[0][size:]; len(c.parts[0]) == 0 {
		c.parts = c.parts[1:]
	}
	if code == 0 {
		return none
	}
	code--
	c.last += int64(code>>1) ^ -int64(code&1)
	return c.last
}

// hold counts bytes that are kept until their thread is passed on.
func (r *reader) hold(bytes int) error {
	if r.held += bytes; r.held > r.limit {
		return fmt.Errorf("over %d MiB of records whose tables are not complete", r.limit>>20)
	}
	return nil
}

// table reads the columns that shifts names, each with the power of ten of its unit. In raw
// profiles a table has a schema and rows. In processed ones it has a list for each column. Put gets
// the numbers, and data the cells of the column data.
func (r *reader) table(s *jsonstream.Stream, shifts map[string]int, put func(column string, row, n int64) int,
	data func(row int64, raw []byte) int) error {
	var schema []string
	add := func(column string, row int64, raw []byte) error {
		if column == "data" && data != nil {
			return r.hold(1 + data(row, raw)) // cells of later rows fill those before them
		}
		shift, wanted := shifts[column]
		if !wanted {
			return nil
		}
		return r.hold(put(column, row, number(raw, shift)))
	}
	return s.Object(func(key string) error {
		switch c, err := s.Peek(); {
		case err != nil:
			return err
		case key == "schema":
			raw, err := s.Raw()
			schema = columns(raw)
			return err
		case key == "data" && schema != nil && c == '[':
			row := int64(0)
			return r.elements(s, func(raw []byte) (err error) {
				i, before := 0, r.held
				whole := jsonstream.Elements(raw, func(value []byte) bool {
					if i < len(schema) && err == nil {
						err = add(schema[i], row, value)
					}
					i++
					return err == nil
				})
				if row++; !whole {
					r.claims.Skip("malformed rows")
				}
				if err == nil && r.held == before { // later rows fill its cells
					err = r.hold(emptyRow)
				}
				return err
			})
		case c == '[':
			row := int64(0)
			return r.elements(s, func(raw []byte) error {
				row++
				return add(key, row-1, raw)
			})
		}
		return s.Skip()
	})
}

// elements goes through an array of small values. Long ones are skipped.
func (r *reader) elements(s *jsonstream.Stream, each func(raw []byte) error) error {
	return s.Array(func() error {
		raw, err := s.Raw()
		if errors.Is(err, jsonstream.ErrLong) {
			r.claims.Skip("long records")
			raw, err = []byte("null"), nil
		}
		if err != nil {
			return err
		}
		return each(raw)
	})
}

// columns returns the names of columns in their order.
func columns(raw []byte) []string {
	all := []string{}
	jsonstream.Fields(raw, func(key, value []byte) bool {
		i := int(jsonstream.Int(value))
		for len(all) <= i && i < 64 {
			all = append(all, "")
		}
		if i >= 0 && i < 64 {
			all[i] = string(key)
		}
		return true
	})
	return all
}

// number returns a number of a cell, or none.
func number(raw []byte, shift int) int64 {
	switch string(raw) {
	case "true":
		return 1
	case "false":
		return 0
	}
	if n, ok := jsonstream.Decimal(raw, shift); ok {
		return n
	}
	return none
}
