package jsonstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// collect reads a document into the types of encoding/json.
func collect(s *Stream) (any, error) {
	c, err := s.Peek()
	if err != nil {
		return nil, err
	}
	switch c {
	case '{':
		all := map[string]any{}
		err := s.Object(func(key string) (err error) {
			all[key], err = collect(s)
			return err
		})
		return all, err
	case '[':
		all := []any{}
		err := s.Array(func() error {
			v, err := collect(s)
			all = append(all, v)
			return err
		})
		return all, err
	}
	raw, err := s.Raw()
	if err != nil {
		return nil, err
	}
	var v any
	return v, json.Unmarshal(raw, &v)
}

const document = `{"a": [1, -2.5e3, "x\"y\\", {"b": {}, "c": [], "d": null}], "e\u0041": true, "long": "` +
	`aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"} `

func TestStreamEqualsJSON(t *testing.T) {
	var want any
	if err := json.Unmarshal([]byte(document), &want); err != nil {
		t.Fatal(err)
	}
	for _, from := range []io.Reader{strings.NewReader(document), iotest.OneByteReader(strings.NewReader(document))} {
		got, err := collect(New(from))
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	}
}

// TestTruncated: each begin of a document ends with an error.
func TestTruncated(t *testing.T) {
	text := strings.TrimSpace(document)
	for n := range len(text) {
		if _, err := collect(New(strings.NewReader(text[:n]))); err == nil {
			t.Errorf("the first %d bytes are a document", n)
		}
	}
}

func TestLongValue(t *testing.T) {
	long := `["` + strings.Repeat("x", maxValue+10) + `", 7]`
	s := New(strings.NewReader(long))
	var got []string
	err := s.Array(func() error {
		raw, err := s.Raw()
		if errors.Is(err, ErrLong) {
			got, err = append(got, "long"), nil
		} else {
			got = append(got, string(raw[:min(len(raw), 10)]))
		}
		return err
	})
	if err != nil || fmt.Sprint(got) != "[long 7]" {
		t.Errorf("%d values, %v", len(got), err)
	}
}

func TestDecimal(t *testing.T) {
	for _, tc := range []struct {
		text  string
		shift int
		want  int64
		ok    bool
	}{
		{"12.3456", 3, 12345, true}, {"-12.3456", 3, -12346, true}, {"-12.5", 0, -13, true}, {"0", 9, 0, true},
		{`"42"`, 0, 42, true}, {"1.5e3", 3, 1_500_000, true}, {"9223372036854775807", 0, 0, false}, {"", 0, 0, false},
		{"-", 0, 0, false}, {"1e300", 0, 0, false}, {"1.2.3", 0, 0, false}, {"null", 0, 0, false},
		{"49199.319351", 9, 49199319351000, true},
	} {
		if n, ok := Decimal([]byte(tc.text), tc.shift); ok != tc.ok || ok && n != tc.want {
			t.Errorf("%q with shift %d: %d, %v; want %d, %v", tc.text, tc.shift, n, ok, tc.want, tc.ok)
		}
	}
}

func FuzzStream(f *testing.F) {
	f.Add([]byte(document))
	f.Add([]byte(`{"a":[1,2,{"b":"\\"}],}`))
	f.Add([]byte(`[[[[`))
	f.Add([]byte(`{"a":1"}",{"b":2}`))
	f.Add([]byte("{\"\xff\xfe\":\"\xff\"}"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		whole, errWhole := collect(New(bytes.NewReader(raw)))
		slow, errSlow := collect(New(iotest.OneByteReader(bytes.NewReader(raw))))
		if fmt.Sprint(whole) != fmt.Sprint(slow) || (errWhole == nil) != (errSlow == nil) {
			t.Errorf("%v, %v; by single bytes %v, %v", whole, errWhole, slow, errSlow)
		}
		var want any
		if json.Unmarshal(raw, &want) == nil && (errWhole != nil || fmt.Sprint(whole) != fmt.Sprint(want)) &&
			bytes.Count(raw, []byte("[")) < maxNesting && bytes.Count(raw, []byte("{")) < maxNesting {
			t.Errorf("%v, %v; encoding/json has %v", whole, errWhole, want)
		}
		ahead, whole2 := New(bytes.NewReader(raw)), New(bytes.NewReader(raw))
		if ahead.Fields(func([]byte, []byte) {}) {
			if _, err := whole2.Raw(); err != nil || whole2.Offset() != ahead.Offset() {
				t.Errorf("fields end at %d, and the value at %d (%v)", ahead.Offset(), whole2.Offset(), err)
			}
		}
		Fields(raw, func(_, value []byte) bool { Elements(value, func([]byte) bool { return true }); return true })
	})
}
