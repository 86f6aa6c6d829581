package lines_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/trace"
	"github.com/eideticker/eideticker/analyze/trace/lines"
	"github.com/eideticker/eideticker/analyze/trace/profile"
	"github.com/eideticker/eideticker/netsim/instrument/record"
)

func names(function uint32) profile.Function {
	name := []string{"", "(module)", "find", "(anonymous)", "numbers"}[function]
	return profile.Function{Name: name, URL: "/app/a.js", Line: int(function), Column: 5,
		Generator: name == "numbers"}
}

// program is a trace with every kind of line.
func program() *trace.Trace {
	b := &record.Batch{Kind: record.Node, Realm: 1, Sent: 20_000,
		Details: []record.Detail{{Kind: "realm", URL: "/app/a.js (1)"}, {Kind: "log", Message: "a label"}}}
	at := 12_000.0
	add := func(code record.Code, id uint32, after float64) {
		at += after
		b.Records = append(b.Records, record.Record{Code: code, ID: id, At: at})
	}
	add(record.Start, 0, 0)
	add(record.Happened, 0, 0)
	add(record.Heap, 4096, 0)
	add(record.Enter, 1, 1)   // call 1: the module
	add(record.Enter, 2, 1)   // call 2: find
	add(record.Planned, 7, 0) // by find
	add(record.Enter, 4, 1)   // call 3: numbers
	add(record.Suspend, 3, 1)
	add(record.Leave, 2, 1)
	add(record.Enter, 3, 1) // call 4 throws
	add(record.Caught, 1, 1)
	add(record.Leave, 1, 1)
	add(record.Idle, 0, 0)
	add(record.Heap, 8192, 0)
	add(record.Lag, 1500, 0)
	add(record.Begins, 7, 10)
	add(record.Resume, 3, 1)
	add(record.Leave, 3, 1)
	add(record.Ends, 7, 1)
	add(record.Begins, 9, 1) // of an unknown call
	add(record.Ends, 9, 1)
	add(record.Happened, 1, 0)
	add(record.Enter, 2, 1) // call 5 does not end
	b.Records = append(b.Records,
		record.Record{Code: record.Gap, Argument: uint16(record.SwitchedOff), ID: 3, At: at + 1})
	return trace.Build([]trace.Arrived{{At: 30e9, Batch: b}}, 0)
}

const text = `TRACER OVERHEAD 0.00000ms per timing
TRACER LOG 2000.00ms node /app/a.js (1)
TRACER FNI 2001.00ms 4194304  /app/a.js
TRACER FNI 2002.00ms 4194304   /app/a.js.find
TRACER FNI 2003.00ms 4194304    /app/a.js.numbers
TRACER FNR 2004.00ms 4194304    /app/a.js.numbers yield
TRACER FNR 2005.00ms 4194304   /app/a.js.find
TRACER FNI 2006.00ms 4194304   /app/a.js.(anonymous):3:5
TRACER FNR 2007.00ms 4194304   /app/a.js.(anonymous):3:5 throw
TRACER FNR 2008.00ms 4194304  /app/a.js
TRACER EV LAG 2ms
TRACER CBI 2018.00ms 8388608  /app/a.js.find
TRACER FNI 2019.00ms 8388608  /app/a.js.numbers resume
TRACER FNR 2020.00ms 8388608  /app/a.js.numbers
TRACER CBR 2021.00ms 8388608  /app/a.js.find
TRACER LOG 2023.00ms a label
TRACER FNI 2024.00ms 8388608  /app/a.js.find
TRACER FNR 2025.00ms 8388608  /app/a.js.find open
TRACER GAP 2025.00ms 3 records: switched off
TRACER TOTAL OVERHEAD 0.00ms
TRACER TOTAL 17.00ms 17.00ms 17.00ms 1 /app/a.js.numbers
TRACER TOTAL 1.00ms 10.00ms 19.00ms 2 /app/a.js.find (1 open)
TRACER TOTAL 7.00ms 7.00ms 7.00ms 1 /app/a.js
TRACER TOTAL 1.00ms 1.00ms 1.00ms 1 /app/a.js.(anonymous):3:5
`

func TestText(t *testing.T) {
	var got strings.Builder
	if err := lines.Write(&got, program(), names, lines.Text); err != nil || got.String() != text {
		t.Errorf("%v:\n%s", err, got.String())
	}
}

func TestJSON(t *testing.T) {
	var got strings.Builder
	analyzetest.Check(t, lines.Write(&got, program(), names, lines.JSON))
	for _, want := range []string{
		`{"type":"FNR","realm":0,"ms":12004,"id":3,"name":"numbers","url":"/app/a.js","line":4,"depth":2,` +
			`"how":"yield","heap":4194304}`,
		`{"type":"CBI","realm":0,"ms":12018,"id":2,"name":"find","url":"/app/a.js","line":2,"heap":8388608}`,
		`{"type":"LAG","realm":0,"ms":12008,"value":1.5,"heap":8388608}`,
		`{"type":"LOG","realm":0,"ms":12023,"text":"a label","heap":8388608}`,
		`{"type":"GAP","realm":0,"ms":12025,"text":"switched off","value":3,"heap":8388608}`,
		`{"type":"TOTAL","realm":0,"ms":0,"name":"find","url":"/app/a.js","line":2,"calls":2,"open":1,` +
			`"self":3,"min":1,"mean":2,"max":3,"lasted":[1,10,19]}`,
	} {
		if !strings.Contains(got.String(), want+"\n") {
			t.Errorf("no line %s", want)
		}
	}
	if n := strings.Count(got.String(), "\n"); n != strings.Count(text, "\n") {
		t.Errorf("%d lines:\n%s", n, got.String())
	}
}

// full accepts some bytes.
type full int

func (f *full) Write(b []byte) (int, error) {
	if *f -= full(len(b)); *f < 0 {
		return 0, errors.New("the disk is full")
	}
	return len(b), nil
}

func TestOutputFails(t *testing.T) {
	out := full(100)
	if err := lines.Write(&out, program(), names, lines.Text); err == nil || err.Error() != "the disk is full" {
		t.Error(err)
	}
}
