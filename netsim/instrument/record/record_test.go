package record_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/eideticker/eideticker/netsim/instrument/record"
)

// sample has each code and each kind of detail.
func sample() record.Batch {
	b := record.Batch{
		Kind: record.Frame, Realm: 0xdeadbeef, Sequence: 7, Origin: 1.7e12 + 0.125, Sent: 99.5,
		Details: []record.Detail{
			{Kind: "realm", URL: "http://a.test/page"},
			{Kind: "error", Message: "x is <not> defined", URL: "http://a.test/a.js", Line: 3, Column: 14,
				Stack: []record.Place{{Function: "f", URL: "http://a.test/a.js", Line: 3, Column: 14}, {Line: 9}}},
			{Kind: "resource", URL: "http://a.test/missing.png", Tag: "IMG"},
			{Kind: "blocked", What: "frame"},
		},
	}
	for code := record.Enter; code <= record.End; code++ {
		r := record.Record{Code: code, ID: uint32(code), At: float64(code) + 0.1}
		switch code {
		case record.Idle, record.Start, record.End:
			r.ID = 0
		case record.Gap:
			r.Argument = uint16(record.Unreachable)
		case record.Happened:
			r.ID = 3
		case record.Rig:
			r.At = 123456789012345
		}
		b.Records = append(b.Records, r)
	}
	return b
}

func TestBatchesAreReadAsWritten(t *testing.T) {
	for name, b := range map[string]record.Batch{
		"sample": sample(),
		"empty":  {Kind: record.Window, Realm: 1},
		"largest": {Kind: record.Node, Realm: math.MaxUint32, Sequence: math.MaxUint32,
			Records: make([]record.Record, record.MaxRecords), Details: make([]record.Detail, record.MaxDetails)},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range b.Records {
				if b.Records[i].Code == 0 {
					b.Records[i] = record.Record{Code: record.Enter, ID: uint32(i + 1), At: float64(i)}
				}
			}
			for i := range b.Details {
				if b.Details[i].Kind == "" {
					b.Details[i] = record.Detail{Kind: "caught", Message: strings.Repeat("é", 100)}
				}
			}
			raw := b.Append([]byte("before"))[len("before"):]
			if len(raw) > record.MaxBatch {
				t.Fatalf("%d bytes", len(raw))
			}
			got, err := record.Decode(raw)
			if err != nil || !reflect.DeepEqual(got, b) {
				t.Errorf("%v, got %+v\nwant %+v", err, got, b)
			}
		})
	}
}

// TestLayout compares the bytes with SCRIPT.md.
func TestLayout(t *testing.T) {
	raw := record.Batch{Kind: record.Worker, Realm: 0x01020304, Sequence: 5, Origin: 1, Sent: 2,
		Records: []record.Record{{Code: record.Gap, Argument: 3, ID: 0x0a0b0c0d, At: 0.5}},
		Details: []record.Detail{{Kind: "blocked", What: "a<b"}}}.Append(nil)
	want := "EIDS\x01\x03\x00\x00" + "\x04\x03\x02\x01" + "\x05\x00\x00\x00" +
		"\x00\x00\x00\x00\x00\x00\xf0\x3f" + "\x00\x00\x00\x00\x00\x00\x00\x40" +
		"\x01\x00\x00\x00" + "\x21\x00\x00\x00" +
		"\x09\x00\x03\x00\x0d\x0c\x0b\x0a" + "\x00\x00\x00\x00\x00\x00\xe0\x3f" +
		`[{"kind":"blocked","what":"a<b"}]`
	if string(raw) != want {
		t.Errorf("got  %q\nwant %q", raw, want)
	}
}

func TestInvalidBatchesAreErrorsWithOffset(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(raw []byte) []byte
		want   string
	}{
		{"empty", func(raw []byte) []byte { return nil }, "byte 0: the head is cut"},
		{"cut head", func(raw []byte) []byte { return raw[:39] }, "byte 39: the head is cut"},
		{"magic", func(raw []byte) []byte { raw[0] = 'X'; return raw }, `byte 0: "XIDS" is not EIDS`},
		{"version", func(raw []byte) []byte { raw[4] = 2; return raw }, "byte 4: unknown version 2"},
		{"kind 0", func(raw []byte) []byte { raw[5] = 0; return raw }, "byte 5: unknown kind"},
		{"kind 5", func(raw []byte) []byte { raw[5] = 5; return raw }, "byte 5: unknown kind"},
		{"reserved", func(raw []byte) []byte { raw[7] = 1; return raw }, "byte 6: reserved"},
		{"realm", func(raw []byte) []byte { return put(raw, 8, 0) }, "byte 8: realm is 0"},
		{"origin NaN", func(raw []byte) []byte { return putFloat(raw, 16, math.NaN()) }, "byte 16: time origin NaN"},
		{"origin before 1970", func(raw []byte) []byte { return putFloat(raw, 16, -1) }, "byte 16: time origin -1"},
		{"sent infinite", func(raw []byte) []byte { return putFloat(raw, 24, math.Inf(1)) }, "byte 24: time +Inf"},
		{"records", func(raw []byte) []byte { return put(raw, 32, record.MaxRecords+1) }, "byte 32: 65537 records"},
		{"details", func(raw []byte) []byte { return put(raw, 36, 64<<10+1) }, "byte 36: 65537 bytes of details"},
		{"one record more", func(raw []byte) []byte { return put(raw, 32, 19) }, "byte 32: sizes amount to"},
		{"cut", func(raw []byte) []byte { return raw[:len(raw)-1] }, "byte 32: sizes amount to"},
		{"rest", func(raw []byte) []byte { return append(raw, 0) }, "byte 32: sizes amount to"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := record.Decode(tc.change(sample().Append(nil)))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q", err, tc.want)
			}
		})
	}
	for text, want := range map[string]string{
		`{"kind":"error"}`:      "not an array",
		`[{"kind":"error"}`:     "EOF",
		`[{"kind":"error"},`:    "EOF",
		`[{"kind":"error"}] 1`:  "text after the array",
		`[{"kind":"error" "a"]`: "invalid character",
		"[{\"kind\":\"\xff\"}]": "not UTF-8",
		"[" + strings.Repeat(`{"kind":"error"},`, 256) + `{}]`: "more than 256 objects",
		strings.Repeat("[", 60000):                             "exceeded max depth",
	} {
		_, err := record.Decode(withDetails(text))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "byte 56: ") {
			t.Errorf("%.40q: error %v, want %q", text, err, want)
		}
	}
}

func put(raw []byte, at int, value uint32) []byte {
	binary.LittleEndian.PutUint32(raw[at:], value)
	return raw
}

func putFloat(raw []byte, at int, value float64) []byte {
	binary.LittleEndian.PutUint64(raw[at:], math.Float64bits(value))
	return raw
}

// withDetails returns a batch with one record, of the detail 0.
func withDetails(text string) []byte {
	raw := record.Batch{Kind: record.Window, Realm: 1,
		Records: []record.Record{{Code: record.Happened}}}.Append(nil)
	return append(put(raw, 36, uint32(len(text))), text...)
}

func TestInvalidRecordsAreDropped(t *testing.T) {
	good := record.Record{Code: record.Enter, ID: 1, At: 1}
	negative := record.Record{Code: record.Value, Argument: 3, ID: 9, At: -math.MaxFloat64}
	if b, err := record.Decode(record.Batch{Kind: record.Window, Realm: 1,
		Records: []record.Record{negative}}.Append(nil)); err != nil || b.Dropped != 0 || b.Records[0] != negative {
		t.Errorf("a value: %v, %+v", err, b)
	}
	for name, bad := range map[string]record.Record{
		"code 0":           {Code: 0},
		"code 21":          {Code: 21},
		"loaded with id":   {Code: record.Loaded, ID: 1},
		"point 0":          {Code: record.Value, At: 1},
		"infinite value":   {Code: record.Value, ID: 1, At: math.Inf(-1)},
		"NaN value":        {Code: record.Value, ID: 1, At: math.NaN()},
		"function 0":       {Code: record.Enter},
		"call 0":           {Code: record.Leave},
		"idle with id":     {Code: record.Idle, ID: 1},
		"no cause":         {Code: record.Gap},
		"cause of the rig": {Code: record.Gap, Argument: uint16(record.BatchMissing)},
		"no pairs":         {Code: record.Cost, At: 1},
		"cost of an hour":  {Code: record.Cost, ID: 1, At: 3.6e6},
		"NaN":              {Code: record.Enter, ID: 1, At: math.NaN()},
		"infinite":         {Code: record.Enter, ID: 1, At: math.Inf(1)},
		"negative":         {Code: record.Enter, ID: 1, At: -1},
		"late":             {Code: record.Enter, ID: 1, At: 1.1e12},
		"late rig":         {Code: record.Rig, At: 1.1e18},
	} {
		b, err := record.Decode(record.Batch{Kind: record.Window, Realm: 1,
			Records: []record.Record{good, bad, good}}.Append(nil))
		if err != nil || b.Dropped != 1 || !reflect.DeepEqual(b.Records, []record.Record{good, good}) {
			t.Errorf("%s: %v, %+v", name, err, b)
		}
	}
	raw := record.Batch{Kind: record.Window, Realm: 1, Records: []record.Record{good}}.Append(nil)
	raw[41] = 1
	if b, err := record.Decode(raw); err != nil || b.Dropped != 1 {
		t.Errorf("reserved byte: %v, %+v", err, b)
	}
}

func TestInvalidDetailsAreDroppedWithTheirRecords(t *testing.T) {
	long := strings.Repeat("x", 1001)
	for name, bad := range map[string]string{
		"no kind":         `{}`,
		"unknown kind":    `{"kind":"other"}`,
		"not an object":   `7`,
		"array":           `[{"kind":"error"}]`,
		"null":            `null`,
		"message number":  `{"kind":"error","message":1}`,
		"long message":    `{"kind":"error","message":"` + long + `"}`,
		"long function":   `{"kind":"error","stack":[{"function":"` + long + `"}]}`,
		"deep stack":      `{"kind":"error","stack":[` + strings.Repeat("{},", 50) + `{}]}`,
		"negative line":   `{"kind":"error","line":-1}`,
		"fractional line": `{"kind":"error","line":1.5}`,
		"huge column":     `{"kind":"error","column":4294967296}`,
		"line of a place": `{"kind":"error","stack":[{"line":-1}]}`,
	} {
		text := fmt.Sprintf(`[{"kind":"error","message":"a"},%s,{"kind":"error","message":"b"}]`, bad)
		raw := record.Batch{Kind: record.Window, Realm: 1, Records: []record.Record{
			{Code: record.Happened, ID: 2}, {Code: record.Happened, ID: 1}, {Code: record.Happened, ID: 0},
			{Code: record.Happened, ID: 3}}}.Append(nil)
		b, err := record.Decode(append(put(raw, 36, uint32(len(text))), text...))
		if err != nil || len(b.Details) != 2 || len(b.Records) != 2 || b.Dropped != 0 || b.DroppedDetails != 3 {
			t.Errorf("%s: %v, %+v", name, err, b)
			continue
		}
		if got := b.Details[b.Records[0].ID].Message + b.Details[b.Records[1].ID].Message; got != "ba" {
			t.Errorf("%s: the records name %q", name, got)
		}
	}
}

func TestControlCharactersBecomeSpaces(t *testing.T) {
	text := `[{"kind":"error","message":"a\u001b[31m\n\u2028\u0085é","stack":[{"url":"\u0000"}]}]`
	b, err := record.Decode(withDetails(text))
	if err != nil || b.Details[0].Message != "a [31m   é" || b.Details[0].Stack[0].URL != " " {
		t.Errorf("%v, %+v", err, b.Details)
	}
}

func TestLogIsReadAsWritten(t *testing.T) {
	var file bytes.Buffer
	w, err := record.NewLogWriter(&file)
	if err != nil {
		t.Fatal(err)
	}
	var want []record.Batch
	for i := range 5 {
		b := sample()
		b.Sequence = uint32(i)
		b.Records = b.Records[:3*i]
		if len(b.Records) == 0 {
			b.Records = nil
		}
		want = append(want, b)
		if err := w.Write(int64(i)*1e9, b.Append(nil)); err != nil {
			t.Fatal(err)
		}
	}
	whole := file.Bytes()
	for name, r := range map[string]io.Reader{
		"at once": bytes.NewReader(whole), "by bytes": iotest.OneByteReader(bytes.NewReader(whole)),
	} {
		n, err := readLog(t, r, want)
		if n != len(want) || err != io.EOF {
			t.Errorf("%s: %d batches, error %v", name, n, err)
		}
	}
	// A cut file gives the batches before the cut.
	ends := map[int]int{8: 0}
	for at, i := 8, 0; i < len(want); i++ {
		at += 12 + len(want[i].Append(nil))
		ends[at] = i + 1
	}
	for size, complete := 8, 0; size < len(whole); size++ {
		i, boundary := ends[size]
		if boundary {
			complete = i
		}
		n, err := readLog(t, bytes.NewReader(whole[:size]), want)
		cut := err != io.EOF && strings.Contains(err.Error(), fmt.Sprintf("byte %d: the file is cut", size))
		if n != complete || boundary != (err == io.EOF) || !boundary && !cut {
			t.Fatalf("cut to %d bytes: %d batches, want %d; error %v", size, n, complete, err)
		}
	}
}

func readLog(t *testing.T, r io.Reader, want []record.Batch) (int, error) {
	t.Helper()
	l, err := record.NewLogReader(r)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; ; n++ {
		arrival, b, err := l.Next()
		if err != nil {
			if _, _, again := l.Next(); again != err {
				t.Errorf("the error %v is not kept: %v", err, again)
			}
			return n, err
		}
		if arrival != int64(n)*1e9 || !reflect.DeepEqual(*b, want[n]) {
			t.Fatalf("batch %d: arrival %d, %+v", n, arrival, b)
		}
	}
}

func TestDamagedLogs(t *testing.T) {
	batch := sample().Append(nil)
	entry := func(arrival uint64, size uint32, raw []byte) []byte {
		file := binary.LittleEndian.AppendUint64([]byte("EIDSLOG1"), arrival)
		return append(binary.LittleEndian.AppendUint32(file, size), raw...)
	}
	for name, file := range map[string][]byte{
		"byte 0: \"\" is not EIDSLOG1":            nil,
		"byte 0: \"EIDS\" is not":                 []byte("EIDS"),
		"byte 0: \"EIDSLOG2\" is not":             []byte("EIDSLOG2"),
		"byte 8: arrival -1 ns":                   entry(math.MaxUint64, uint32(len(batch)), batch),
		"byte 8: a batch of 39 bytes":             entry(1, 39, batch),
		"byte 8: a batch of 4294967295 bytes":     entry(1, math.MaxUint32, batch),
		"byte 20: batch, byte 32: sizes":          entry(1, uint32(len(batch))-1, batch),
		"byte " + fmt.Sprint(20+len(batch)) + ":": entry(1, uint32(len(batch))+1, batch),
	} {
		l, err := record.NewLogReader(bytes.NewReader(file))
		if err == nil {
			_, _, err = l.Next()
		}
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, want %q", err, name)
		}
	}
}

// full is a disk that takes a number of bytes.
type full struct{ left int }

func (f *full) Write(p []byte) (int, error) {
	n := min(f.left, len(p))
	f.left -= n
	if n < len(p) {
		return n, errors.New("no space")
	}
	return n, nil
}

func TestLogWriterKeepsItsError(t *testing.T) {
	if _, err := record.NewLogWriter(&full{7}); err == nil {
		t.Error("a full disk is no error")
	}
	disk := &full{100}
	w, err := record.NewLogWriter(disk)
	if err != nil {
		t.Fatal(err)
	}
	first := w.Write(1, sample().Append(nil))
	if first == nil || !strings.Contains(first.Error(), "no space") {
		t.Errorf("error %v", first)
	}
	if disk.left = 1 << 20; w.Write(2, sample().Append(nil)) != first || disk.left != 1<<20 {
		t.Error("a batch follows half a batch")
	}
	w, _ = record.NewLogWriter(&full{1 << 30})
	if w.Write(-1, sample().Append(nil)) == nil || w.Write(1, make([]byte, record.MaxBatch+1)) == nil {
		t.Error("an invalid entry is written")
	}
	if err := w.Write(1, sample().Append(nil)); err != nil {
		t.Errorf("a refused entry ends the file: %v", err)
	}
}

// TestDecodeIsBounded: memory follows the size of the batch, also for hostile details.
func TestDecodeIsBounded(t *testing.T) {
	for name, raw := range map[string][]byte{
		"records": record.Batch{Kind: record.Window, Realm: 1,
			Records: make([]record.Record, record.MaxRecords)}.Append(nil),
		"empty objects": withDetails("[" + strings.Repeat("{},", 255) + "{}]"),
		"stacks":        withDetails(`[{"kind":"error","stack":[` + strings.Repeat("{},", 20000) + "{}]}]"),
		"depth":         withDetails(`[{"kind":` + strings.Repeat(`[`, 9000) + strings.Repeat(`]`, 9000) + "}]"),
		"one string":    withDetails(`[{"kind":"error","message":"` + strings.Repeat("x", 65000) + `"}]`),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := record.Decode(raw); err != nil {
			t.Error(err)
		}
		runtime.ReadMemStats(&after)
		if got, limit := after.TotalAlloc-before.TotalAlloc, uint64(len(raw)+6<<20); got > limit {
			t.Errorf("%s: Decode of %d bytes allocates %d, limit %d", name, len(raw), got, limit)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(sample().Append(nil))
	f.Add(withDetails(`[{"kind":"realm"},{"kind":7},{"kind":"error","stack":[{}]}]`))
	f.Add(withDetails(`[{"kind":"error","message":"\ud800\u2028\\\/"}]`))
	f.Add(record.Batch{Kind: record.Window, Realm: 1, Records: make([]record.Record, 3)}.Append(nil))
	random := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		raw := sample().Append(nil)
		raw[random.IntN(len(raw))]++
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		b, err := record.Decode(raw)
		if err != nil {
			return
		}
		// A valid batch is read as written.
		dropped := b.Dropped + b.DroppedDetails
		b.Dropped, b.DroppedDetails = 0, 0
		again := b.Append(nil)
		got, err := record.Decode(again)
		if len(b.Records) == 0 {
			b.Records, got.Records = nil, nil
		}
		if err != nil || !reflect.DeepEqual(got, b) || len(again) > len(raw) {
			t.Errorf("%v, read %+v\nwritten %+v", err, got, b)
		}
		if dropped == 0 && len(b.Details) == 0 && !bytes.Equal(again[:36], raw[:36]) {
			t.Errorf("%x is written as %x", raw, again)
		}
	})
}

func FuzzReadLog(f *testing.F) {
	var file bytes.Buffer
	w, err := record.NewLogWriter(&file)
	if err != nil {
		f.Fatal(err)
	}
	for range 2 {
		if err := w.Write(5, sample().Append(nil)); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(file.Bytes())
	f.Add(file.Bytes()[:file.Len()-1])
	f.Add([]byte("EIDSLOG1"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		l, err := record.NewLogReader(bytes.NewReader(raw))
		if err != nil {
			return
		}
		for n := 0; ; n++ {
			_, _, err := l.Next()
			if err == io.EOF {
				return
			}
			if err != nil {
				var at int
				if _, scan := fmt.Sscanf(err.Error(), "read script log, byte %d:", &at); scan != nil || at > len(raw) {
					t.Errorf("error %v of %d bytes", err, len(raw))
				}
				return
			}
			if n > len(raw)/52 {
				t.Fatalf("%d batches in %d bytes", n, len(raw))
			}
		}
	})
}
