package gecko

import (
	"errors"
	"fmt"
	"math"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/jsonstream"
)

// none is a cell without a number.
const none = math.MinInt64

// maxCells bounds the numbers of all tables of a profile.
const maxCells = activity.MaxEvents

// table has columns of numbers. Texts are numbers in the list of strings.
type table map[string][]int64

// get returns a number, or none.
func (t table) get(column string, row int64) int64 {
	if c := t[column]; row >= 0 && row < int64(len(c)) {
		return c[row]
	}
	return none
}

// rows returns the length of a column.
func (t table) rows(column string) int64 { return int64(len(t[column])) }

// table reads the columns that shifts names, each with the power of ten of its unit. In raw
// profiles a table has a schema and rows, and in processed ones a list for each column. Data gets
// the cells of the column data.
func (r *reader) table(s *jsonstream.Stream, shifts map[string]int, data func(row int64, raw []byte)) (table, error) {
	t := table{}
	var schema []string
	add := func(column string, row int64, raw []byte) error {
		if column == "data" && data != nil {
			data(row, raw)
			return nil
		}
		shift, wanted := shifts[column]
		if !wanted {
			return nil
		}
		if r.cells++; r.cells > maxCells {
			return fmt.Errorf("over %d numbers in tables", maxCells)
		}
		for int64(len(t[column])) < row { // rows may leave out their last cells
			t[column] = append(t[column], none)
		}
		t[column] = append(t[column], number(raw, shift))
		return nil
	}
	err := s.Object(func(key string) error {
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
				i := 0
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
	return t, err
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
