package suite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/eideticker/eideticker/capture/frame"
)

// MarshalJSON returns the test as a file in JSON, which is YAML too.
func (t *Test) MarshalJSON() ([]byte, error) { return json.Marshal(t.tree()) }

// tree returns what a file of the test says: keys in the order of the types, and only those that
// say more than their absence.
func (t *Test) tree() mapping {
	c := *t
	if c.Places == content {
		c.Places = ""
	}
	return tree(reflect.ValueOf(c)).(mapping)
}

// mapping is keys and values in order; values are string, json.Number, []any or mapping.
type mapping []entry

type entry struct {
	key   string
	value any
}

func tree(v reflect.Value) any {
	if v.Kind() == reflect.Pointer {
		return tree(v.Elem())
	}
	switch x := v.Interface().(type) {
	case Step:
		return mapping{{x.Verb(), tree(reflect.ValueOf(x.Action))}}
	case Launch:
		return "browser"
	case Load:
		return x.URL
	case Script:
		return x.Text
	case Sleep:
		return x.For.String()
	case Mark:
		return x.Kind
	case Sync:
		if x.Markers {
			return x.String()
		}
		return mapping{{"end", x.String()}}
	case frame.Region:
		return formatRegion(x)
	case Point:
		if x.Selector != "" {
			return x.Selector
		}
		return []any{coordinate(x.X), coordinate(x.Y)}
	case Tolerance:
		if x.Auto {
			return x.String()
		}
		return x.N
	case fmt.Stringer: // durations, regions, rates and so on
		return fmt.Sprint(x)
	case Places:
		return string(x)
	case Protocol:
		return string(x)
	case Limit:
		return string(x)
	case string, int, float64, bool:
		return x
	}
	switch v.Kind() {
	case reflect.Slice:
		list := []any{}
		for i := range v.Len() {
			list = append(list, tree(v.Index(i)))
		}
		return list
	case reflect.Map:
		var m mapping
		for _, k := range v.MapKeys() {
			m = append(m, entry{k.String(), tree(v.MapIndex(k))})
		}
		slices.SortFunc(m, func(a, b entry) int { return strings.Compare(a.key, b.key) })
		return m
	}
	return structTree(v)
}

// coordinate returns pixels as a number, and a percentage as text.
func coordinate(c Coordinate) any {
	if c.Percent {
		return c.String()
	}
	return c.Value
}

func structTree(v reflect.Value) any {
	var m mapping
	without := blank(v.Type())
	for _, f := range fields(v.Type()) {
		at := v.FieldByIndex(f.Index)
		if f.Tag.Get("need") == "" && reflect.DeepEqual(at.Interface(), without.FieldByIndex(f.Index).Interface()) {
			continue
		}
		m = append(m, entry{f.key, tree(at)})
	}
	addressable := reflect.New(v.Type())
	if s, ok := addressable.Interface().(interface{ short() string }); ok && len(m) == 1 && m[0].key == s.short() {
		return m[0].value
	}
	return m
}

// MarshalJSON keeps the order.
func (m mapping) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, e := range m {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(e.key)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(e.value)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
