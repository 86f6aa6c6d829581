package trace

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/instrument/record"
)

var codes = map[string]record.Code{
	"enter": record.Enter, "leave": record.Leave, "caught": record.Caught, "reopen": record.Reopen,
	"reclose": record.Reclose, "suspend": record.Suspend, "resume": record.Resume, "idle": record.Idle,
	"gap": record.Gap, "calls": record.Calls, "asked": record.Asked, "answered": record.Answered,
	"rig": record.Rig, "cost": record.Cost, "detail": record.Happened, "long": record.LongTask,
	"start": record.Start, "end": record.End, "brief": record.Brief,
}

// records reads lines such as "12 enter 7": time in ms, code, id. Times of rig are in ns.
func records(t testing.TB, text string) (all []record.Record) {
	t.Helper()
	for _, line := range strings.Split(text, ";") {
		var r record.Record
		var code string
		if n, err := fmt.Sscan(line, &r.At, &code, &r.ID); n < 2 {
			t.Fatalf("%q: %v", line, err)
		}
		if r.Code = codes[code]; r.Code == 0 {
			t.Fatalf("%q: unknown code", line)
		}
		if r.Code == record.Gap {
			r.Argument = uint16(record.RingFull)
		}
		all = append(all, r)
	}
	return all
}

// batch returns a batch of a window that was sent at its last record.
func batch(t testing.TB, sequence uint32, text string) *record.Batch {
	b := &record.Batch{Kind: record.Window, Realm: 1, Sequence: sequence, Records: records(t, text)}
	for _, r := range b.Records {
		if r.Code != record.Rig && r.Code != record.Brief {
			b.Sent = max(b.Sent, r.At)
		}
	}
	return b
}

// build builds the trace of batches that are separated by lines.
func build(t testing.TB, text string) *Trace {
	var all []Arrived
	for i, part := range strings.Split(text, "\n") {
		if part = strings.TrimSpace(part); part != "" {
			all = append(all, Arrived{1e12, batch(t, uint32(i), part)})
		}
	}
	return Build(all, 0)
}

// text returns calls as "function<parent begin-end self/total", in ms.
func text(calls []Call) string {
	var all []string
	for _, c := range calls {
		s := fmt.Sprintf("%d<%d %g-%g %g/%g", c.Function, c.Parent, float64(c.Begin)/1e6, float64(c.End)/1e6,
			float64(c.Self)/1e6, float64(c.Total)/1e6)
		if c.Threw {
			s += " threw"
		}
		if c.Open {
			s += " open"
		}
		all = append(all, s)
	}
	return strings.Join(all, ", ")
}

func TestRulesOfRecords(t *testing.T) {
	for _, tc := range []struct{ name, records, want, problem string }{
		{"one call", "1 enter 7;3 leave 1;3 end", "7<-1 1-3 2/2", ""},
		{"nested", "1 enter 7;2 enter 8;5 leave 2;9 leave 1", "7<-1 1-9 5/8, 8<0 2-5 3/3", ""},
		{"recursion", "1 enter 7;2 enter 7;5 leave 2;9 leave 1", "7<-1 1-9 5/8, 7<0 2-5 3/3", ""},
		{"catch ends the calls above", "1 enter 7;2 enter 8;3 enter 9;6 caught 1;8 leave 1",
			"7<-1 1-8 3/7, 8<0 2-6 1/4 threw, 9<1 3-6 3/3 threw", ""},
		{"leave ends the calls above", "1 enter 7;2 enter 8;6 leave 1", "7<-1 1-6 1/5, 8<0 2-6 4/4 threw", ""},
		{"idle ends all", "1 enter 7;2 enter 8;6 idle;9 enter 9;10 leave 3",
			"7<-1 1-6 1/5 threw, 8<0 2-6 4/4 threw, 9<-1 9-10 1/1", ""},
		{"finally after return", "1 enter 7;2 enter 8;4 leave 2;5 reopen 2;6 reclose 2;9 leave 1",
			"7<-1 1-9 5/8, 8<0 2-6 3/3", ""},
		{"finally without return", "1 enter 7;3 reopen 1;4 reclose 1;6 leave 1", "7<-1 1-6 5/5", ""},
		{"finally in finally", "1 enter 7;2 leave 1;2 reopen 1;3 reopen 1;4 reclose 1;5 reclose 1;9 idle",
			"7<-1 1-5 4/4", ""},
		{"return in finally", "1 enter 7;2 leave 1;2 reopen 1;5 leave 1", "7<-1 1-5 4/4", ""},
		{"await in finally after return",
			"1 enter 7;2 leave 1;2 reopen 1;3 suspend 1;4 idle;8 resume 1;9 reclose 1;20 idle", "7<-1 1-9 3/3", ""},
		{"await", "1 enter 7;2 suspend 1;3 idle;8 resume 1;9 leave 1", "7<-1 1-9 2/2", ""},
		{"await is rejected", "1 enter 7;2 suspend 1;3 idle;8 caught 1;9 leave 1", "7<-1 1-9 2/2", ""},
		{"never resumed", "1 enter 7;2 suspend 1;3 idle;9 end", "7<-1 1-2 1/1 open", ""},
		{"generator", "1 enter 7;2 enter 8;3 suspend 2;5 resume 2;8 leave 2;9 leave 1", "7<-1 1-9 4/8, 8<0 2-8 4/4",
			""},
		{"generator ends in finally", "1 enter 7;2 enter 8;3 suspend 2;5 reopen 2;8 reclose 2;9 leave 1",
			"7<-1 1-9 4/8, 8<0 2-8 4/4", ""},
		{"realm ends in a call", "1 enter 7;2 enter 8", "7<-1 1-2 1/1 open, 8<0 2-2 0/0 open", ""},
		{"gap", "1 enter 7;3 gap 9;6 calls 5;7 enter 8;8 leave 6;10 leave 1",
			"7<-1 1-10 2/2 open, 8<-1 7-8 1/1", ""},
		{"suspended before a gap, ended after it", "1 enter 7;2 suspend 1;3 gap 9;6 calls 5;7 resume 1;8 leave 1",
			"7<-1 1-8 2/2", ""},
		{"resumed in a gap", "1 enter 7;2 suspend 1;3 gap 9;6 calls 5;8 leave 1;9 enter 8;9 leave 6",
			"7<-1 1-8 1/1, 8<-1 9-9 0/0", ""},
		{"entered in a gap, catches after it", "1 gap 9;6 calls 5;7 enter 8;9 caught 4;11 leave 4",
			"8<-1 7-9 2/2 threw, 0<-1 9-11 2/2 open", ""},
		{"generator of a gap",
			"1 gap 9;2 calls 5;3 idle;7 enter 8;8 resume 4;9 suspend 4;10 leave 6;11 resume 4;12 leave 4",
			"8<-1 7-10 2/3, 0<-1 8-12 2/2 open", ""},
		{"reopened in a gap", "1 enter 7;2 leave 1;3 gap 1;4 calls 1;5 enter 8;6 reclose 1;7 enter 9;8 leave 3",
			"7<-1 1-6 1/1, 8<-1 5-6 1/1 threw, 9<-1 7-8 1/1", ""},
		{"reopened and suspended in a gap",
			"1 enter 7;2 leave 1;3 gap 1;4 calls 1;5 idle;6 resume 1;8 reclose 1;9 idle",
			"7<-1 1-8 3/3", ""},
		{"catches after a gap that resumed it",
			"1 enter 7;2 suspend 1;3 gap 9;6 calls 5;7 enter 8;8 caught 1;9 leave 1",
			"7<-1 1-9 2/2, 8<-1 7-8 1/1 threw", ""},
		{"for await", "1 enter 7;2 idle;8 leave 1", "7<-1 1-8 1/1", ""},
		{"await in for await", "1 enter 7;2 idle;8 suspend 1;9 resume 1;10 leave 1", "7<-1 1-10 2/2", ""},
		{"finally in for await", "1 enter 7;2 idle;8 reopen 1;9 reclose 1;10 leave 1", "7<-1 1-10 3/3", ""},
		{"two gaps", "1 gap 2;2 gap 3;3 calls 5;4 enter 7;5 leave 6", "7<-1 4-5 1/1", ""},
		{"missing batch", "1 enter 7;2 leave 1\n\n3 enter 8;4 leave 9;5 calls 9;6 enter 9;7 leave 10",
			"7<-1 1-2 1/1, 9<-1 6-7 1/1", "has 2 records whose calls are unknown after a loss"},
		{"missing batch that the page knows", "1 enter 7;2 leave 1\n\n3 gap 8;4 calls 9;6 enter 9;7 leave 10",
			"7<-1 1-2 1/1, 9<-1 6-7 1/1", ""},
		{"first batch is missing", "\n3 enter 8;4 calls 9;6 enter 9;7 leave 10", "9<-1 6-7 1/1",
			"has 1 records whose calls"},
		{"calls without gap", "1 enter 7;2 calls 1;4 enter 8;5 leave 2", "7<-1 1-2 1/1 open, 8<-1 4-5 1/1", ""},
		{"time goes backwards", "5 enter 7;3 enter 8;6 leave 2;4 leave 1", "7<-1 5-6 0/1, 8<0 5-6 1/1",
			"has 2 times that precede the time before"},
		{"unknown call", "1 enter 7;2 leave 5;3 leave 1", "7<-1 1-3 2/2", "has 1 records that contradict the stack"},
		{"leaves twice", "1 enter 7;2 leave 1;3 leave 1", "7<-1 1-2 1/1", "has 1 records that contradict"},
		{"leaves while suspended", "1 enter 7;2 suspend 1;3 leave 1", "7<-1 1-2 1/1 open",
			"has 1 records that contradict"},
		{"resumes without suspension", "1 enter 7;2 resume 1;3 leave 1;4 resume 1", "7<-1 1-3 2/2",
			"has 2 records that"},
		{"recloses after the end", "1 enter 7;2 leave 1;4 reclose 1", "7<-1 1-2 1/1", "has 1 records that contradict"},
		{"fewer calls after a gap", "1 enter 7;1 leave 1;1 enter 7;2 gap 1;3 calls 1;4 enter 8",
			"7<-1 1-1 0/0, 7<-1 1-2 1/1 open",
			"has 1 records that contradict"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tr := build(t, tc.records)
			if got := text(tr.Realms[0].Calls); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			problems := strings.Join(tr.Problems, " ")
			if tc.problem != "" && !strings.Contains(problems, tc.problem) ||
				tc.problem == "" && (strings.Contains(problems, "contradict") || strings.Contains(problems, "loss")) {
				t.Errorf("problems %q, want %q", problems, tc.problem)
			}
		})
	}
}

func TestBatchesOfOtherRealms(t *testing.T) {
	a := batch(t, 0, "1 enter 7;2 leave 1;2 end")
	b := batch(t, 1, "3 enter 8;4 leave 2")
	b.Origin = 5
	c := batch(t, 0, "1 enter 9;2 leave 1;2 end")
	c.Realm, c.Kind = 2, record.Worker
	tr := Build([]Arrived{{1e12, a}, {1e12, b}, {1e12, c}, {1e12, c}}, 0)
	if len(tr.Realms) != 2 || text(tr.Realms[0].Calls) != "7<-1 1-2 1/1" ||
		text(tr.Realms[1].Calls) != "9<-1 1-2 1/1" ||
		!strings.Contains(strings.Join(tr.Problems, " "), "Realm 00000001 has 1 batches of another kind") {
		t.Errorf("%+v", tr)
	}
	if tr.Records != 6 {
		t.Errorf("%d records", tr.Records)
	}
	if got := Build(nil, 0); len(got.Realms) != 0 || len(got.Totals()) != 0 || len(got.Tasks()) != 0 || got.During(0,
		1) != nil {
		t.Errorf("%+v", got)
	}
}

func TestDetailsLongTasksAndGaps(t *testing.T) {
	b := batch(t, 0, "1 start;2 detail 0;3 detail 1;4 detail 9;5 long 60000;6 gap 40;9 calls 0;10 gap 2")
	b.Details = []record.Detail{{Kind: "realm", URL: "http://a.test/"}, {Kind: "error", Message: "m"}}
	c := batch(t, 1, "12 calls 0;14 end")
	c.Dropped = 3
	tr := Build([]Arrived{{1e12, b}, {1e12, c}}, 0)
	r := tr.Realms[0]
	if r.URL != "http://a.test/" || !reflect.DeepEqual(r.Events, []Event{{3e6, b.Details[1]}}) {
		t.Errorf("%+v", r)
	}
	if !reflect.DeepEqual(r.LongTasks, []LongTask{{5e6, 60e6}}) {
		t.Errorf("%+v", r.LongTasks)
	}
	want := []Gap{{6e6, 9e6, 40, record.RingFull}, {10e6, 12e6, 2, record.RingFull}, {14e6, 14e6, 3,
		record.BatchInvalid}}
	if !reflect.DeepEqual(r.Gaps, want) || tr.Lost != 45 || r.Begin != 1e6 || r.End != 14e6 {
		t.Errorf("%+v, lost %d", r.Gaps, tr.Lost)
	}
}

func TestStepOfTheClock(t *testing.T) {
	for records, want := range map[string]int64{
		"1 start":                                     unknownStep,
		"1 start;1 end":                               unknownStep,
		"0.1 start;0.4 idle;12.3 idle":                100_000,
		"12.300000011920929 start;12.5 idle":          200_000,
		"3 start;5 idle;8 idle":                       1_000_000,
		"0.02 start;0.06 idle;0.1 idle;1 idle":        20_000,
		"0.005 start;0.02 idle;0.03 idle":             5_000,
		"0.001 start;0.002301 idle;0.009 idle":        minStep,
		"100 start;300 idle;900 idle":                 maxStep,
		"16.666667 start;50 idle;83.333333 idle":      33_333_333,
		"1 start;2 asked;2.5 answered;9000 rig;7 end": 500_000,
		"1 start;1.0005 long;1.3 detail;2 end":        1_000_000,
	} {
		if got := build(t, records).Realms[0].Step; got < want-1 || got > want+1 {
			t.Errorf("%s: step %d, want %d", records, got, want)
		}
	}
}

func TestOffsets(t *testing.T) {
	const step = 1e6
	for _, tc := range []struct {
		name, records string
		want          timeline.Interval
		problem       string
	}{
		{"one answer", "10 asked;12 answered;512000000 rig;13 idle;13 end", timeline.Interval{Earliest: 1500e6,
			Latest: 1502e6}, ""},
		{"intersection", "10 asked;12 answered;512000000 rig;20 asked 1;23 answered 1;521000000 rig 1;24 end",
			timeline.Interval{Earliest: 1500e6, Latest: 1501e6}, ""},
		{"contradiction", "10 asked;12 answered;512000000 rig;20 asked 1;21 answered 1;541000000 rig 1;24 end",
			timeline.Interval{Earliest: 1500e6, Latest: 1521e6}, "contradict each other by 23ms"},
		{"other questions", "10 asked;12 answered 1;512000000 rig;13 asked 2;14 answered 2;7 rig 3;15 end",
			timeline.Interval{Earliest: 1000e6, Latest: 4985e6}, "has no answer of the collector's clock"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := batch(t, 0, tc.records)
			tr := Build([]Arrived{{5000e6, b}}, 1000e6)
			got := tr.Realms[0].Offset
			if got.Earliest > tc.want.Earliest || got.Latest < tc.want.Latest ||
				got.Width() > tc.want.Width()+2*step || !strings.Contains(strings.Join(tr.Problems, " "), tc.problem) {
				t.Errorf("offset %v, want %v; problems %q", got, tc.want, tr.Problems)
			}
			if tc.problem == "" && len(tr.Problems) > 0 {
				t.Errorf("problems %q", tr.Problems)
			}
		})
	}
}

// TestTimeOriginLinksRealms: a worker without answers has the offset of its window.
func TestTimeOriginLinksRealms(t *testing.T) {
	window := batch(t, 0, "10 asked;12 answered;512000000 rig;13 idle;13 end")
	worker := batch(t, 0, "1 start;2 enter 7;3 leave 1")
	window.Origin, worker.Origin, worker.Realm, worker.Kind = 1e12, 1e12+40, 2, record.Worker
	at := timeline.Time(1560e6)
	tr := Build([]Arrived{{at, worker}, {at, window}}, 1000e6)
	if got := tr.Realms[1].Offset; tr.Realms[1].ID != 2 || got.Earliest > 1540e6 || got.Latest < 1542e6 ||
		got.Width() > 8e6 ||
		len(tr.Problems) != 1 { // the cost is missing
		t.Errorf("offset %v, problems %q", got, tr.Problems)
	}
	worker.Origin = 1e12 + 400
	tr = Build([]Arrived{{at, worker}, {at, window}}, 1000e6)
	if !strings.Contains(strings.Join(tr.Problems, " "), "has a time origin that contradicts the arrival") {
		t.Errorf("problems %q", tr.Problems)
	}
}

func TestCosts(t *testing.T) {
	tr := build(t, "0.1 start;0.5 cost 10000;0.7 cost 10000;1 enter 7;2 enter 8;3 leave 2;9 leave 1;9 end")
	r := tr.Realms[0]
	if want := (Span{70, 40, 80}); r.Step != 100_000 || r.Pair != want {
		t.Errorf("step %d, pair %+v, want %+v", r.Step, r.Pair, want)
	}
	if want := (Span{140, 80, 160}); tr.Counted != want {
		t.Errorf("counted %+v, want %+v", tr.Counted, want)
	}
	// The cost of one pair is above, of the other at most partly within.
	totals := tr.Totals()
	if got := totals[0]; got.Function != 7 || got.Self.Value != 7e6-70 || got.Total.Value != 8e6-105 {
		t.Errorf("%+v", got)
	}
	if got := totals[1]; got.Function != 8 || got.Self.Value != 1e6-35 || got.Self.High != 1e6+120_000 ||
		got.Self.Low != 1e6-120_000-80 {
		t.Errorf("%+v", got)
	}
	// Fault: the cost of a cold program counted for all calls, or for most of them.
	tr = build(t, "0.1 start;0.2 enter 7;0.3 leave 1;0.5 cost 10000;1 enter 7;2 leave 2;2 brief 9;3 enter 7;4 leave 3;"+
		"9 cost 90000;6 enter 7;7 leave 4;9 end")
	if pair := tr.Realms[0].Pair; pair.Value != (1*50+5*100+3)/6 {
		t.Errorf("pair %+v", pair)
	}
	// Fault: lost records cost nothing.
	tr = build(t, "0.1 start;0.5 cost 10000;0.7 cost 10000;1 enter 7;2 leave 1;3 gap 100;4 calls 51;4 idle;9 end")
	if want := (Span{105, 60, 120 + 50*80}); tr.Counted != want {
		t.Errorf("counted %+v, want %+v", tr.Counted, want)
	}
	if text := build(t, "1 enter 7;2 leave 1").Problems; len(text) != 2 || !strings.Contains(text[0]+text[1],
		"did not measure the cost") {
		t.Errorf("problems %q", text)
	}
}

// TestRecursionCountsOnce: the total of a recursive function is not more than the time.
func TestRecursionCountsOnce(t *testing.T) {
	totals := build(t,
		"0.1 start;1 enter 7;2 enter 7;3 enter 8;4 enter 7;5 leave 4;6 leave 3;7 leave 2;9 leave 1;20 end").Totals()
	if got := totals[0]; got.Function != 7 || got.Calls != 3 || got.Total.Value != 8e6 || got.Self.Value != 6e6 ||
		got.Min.Value != 1e6 || got.Max.Value != 8e6 || got.Mean.Value != 4666667 {
		t.Errorf("%+v", got)
	}
	if got := totals[1]; got.Function != 8 || got.Total.Value != 3e6 || got.Self.Value != 2e6 ||
		got.Min.Value != got.Max.Value {
		t.Errorf("%+v", got)
	}
}

func TestTotalsOfAllRealms(t *testing.T) {
	a := batch(t, 0, "0.1 start;1 enter 7;2 leave 1;2 end")
	b := batch(t, 0, "0.1 start;1 enter 7;4 leave 1;5 enter 8;6 suspend 2;6 end")
	b.Realm = 2
	totals := Build([]Arrived{{1e12, a}, {1e12, b}}, 0).Totals()
	if got := totals[0]; len(totals) != 2 || got.Function != 7 || got.Calls != 2 || got.Open != 0 ||
		got.Self.Value != 4e6 ||
		got.Mean.Value != 2e6 || got.Min.Value != 1e6 || got.Max.Value != 3e6 {
		t.Errorf("%+v", totals)
	}
	if totals[1].Open != 1 {
		t.Errorf("%+v", totals[1])
	}
	// Two realms have two independent errors.
	if got, want := totals[0].Self.High, int64(4_169_706); got < want-1 || got > want {
		t.Errorf("high %d, want %d", got, want)
	}
}

// TestBrief: calls without records belong to their task, and raise the bound of the cost.
func TestBrief(t *testing.T) {
	const records = "0.1 start;0.1 cost 1;1 enter 7;2 leave 1;%s2 idle;5 enter 8;7 leave 2;%[1]s7 idle"
	plain, brief := build(t, fmt.Sprintf(records, "")), build(t, fmt.Sprintf(records, "2000 brief 9;"))
	want := []Brief{{1e6, 2e6, 9, 2000}, {5e6, 7e6, 9, 2000}}
	if got := brief.Realms[0]; !reflect.DeepEqual(got.Brief, want) {
		t.Errorf("%+v", got.Brief)
	}
	if more := brief.Counted.High - plain.Counted.High; more != 2000*brief.Realms[0].Pair.High {
		t.Errorf("the cost may be %d ns more", more)
	}
}

func TestTasks(t *testing.T) {
	for _, tc := range []struct{ name, records, want string }{
		{"idle between", "0.1 start;1 enter 7;2 leave 1;2.1 idle;5 enter 8;7 leave 2;7 idle", "1-2:7:1 5-7:8:1"},
		{"top-level code between", "0.1 start;1 enter 7;2 leave 1;5 enter 8;7 leave 2;7 idle", "1-7:8:2"},
		{"a break below the step", "0.1 start;1 enter 7;2 leave 1;2 idle;2.1 enter 8;7 leave 2;7 idle", "1-7:8:2"},
		{"resumed without idle", "0.1 start;1 enter 7;2 suspend 1;2 idle;5 resume 1;6 suspend 1;8 resume 1;9 leave 1",
			"1-2:7:1 5-6:7:0 8-9:7:0"},
		{"ended by idle", "0.1 start;1 enter 7;2 enter 8;5 idle;8 enter 9;9 leave 3", "1-5:8:2 8-9:9:1"},
		{"ended by a gap", "0.1 start;1 enter 7;2 gap 1;3 calls 1;4 enter 8;5 leave 2;6 idle", "1-2:7:1 4-5:8:1"},
		{"no time", "0.1 start;1 enter 7;1 leave 1;1 idle", "1-1:7:1"},
		{"open", "0.1 start;1 enter 7;2 enter 8;6 leave 2", "1-6:8:2"},
	} {
		var got []string
		for _, task := range build(t, tc.records).Tasks() {
			got = append(got, fmt.Sprintf("%g-%g:%d:%d", float64(task.Begin)/1e6, float64(task.End)/1e6, task.Function,
				task.Calls))
			if task.Self.Value > task.End-task.Begin {
				t.Errorf("%s: %+v", tc.name, task)
			}
		}
		if text := strings.Join(got, " "); text != tc.want {
			t.Errorf("%s: got %s, want %s", tc.name, text, tc.want)
		}
	}
}

// exact has the offset 1 s ± the step.
const exact = "0.1 start;0.2 asked;0.2 answered;1000200000 rig;"

func TestDuring(t *testing.T) {
	at := func(ms float64) timeline.Time { return timeline.Time(1e9 + ms*1e6) }
	for _, tc := range []struct {
		name, records string
		from, to      float64
		want          string // functions, unexplained, lost: values in ms
	}{
		{"within a call", "1 enter 7;9 leave 1;10 end", 2, 5, "7=3 none=0 lost=0"},
		{"begin and end", "1 enter 7;9 leave 1;10 end", 0, 20, "7=8 none=12 lost=0"},
		{"nested", "1 enter 7;3 enter 8;5 leave 2;9 leave 1;10 end", 2, 6, "7=2 8=2 none=0 lost=0"},
		{"longest first", "1 enter 7;2 enter 8;7 leave 2;9 leave 1;10 end", 0, 10, "8=5 7=3 none=2 lost=0"},
		{"suspended", "1 enter 7;2 suspend 1;2 idle;8 resume 1;9 leave 1;10 end", 1, 9, "7=2 none=6 lost=0"},
		{"idle", "1 enter 7;2 leave 1;2 idle;8 enter 7;9 leave 2;10 end", 3, 7, "none=4 lost=0"},
		{"gap", "1 enter 7;3 gap 9;5 calls 9;6 enter 8;7 leave 10;8 idle;10 end", 2, 12, "7=1 8=1 none=4 lost=4"},
		{"after the end", "1 enter 7;2 leave 1;10 end", 11, 20, ""},
		{"before the begin", "1 enter 7;2 leave 1;10 end", -20, -10, ""},
		{"over the end", "1 enter 7;2 leave 1;10 end", 5, 20, "none=15 lost=0"},
		{"no end", "1 enter 7;2 leave 1;10 idle", 5, 20, "none=5 lost=10"},
		{"hangs", "1 enter 7;2 enter 8", 1, 20, "7=1 8=0 none=0 lost=18"},
		{"long after", "1 enter 7;2 enter 8", 1e6, 1e6 + 10, "7=0 8=0 none=0 lost=10"},
		{"long after, ended", "1 enter 7;2 leave 1;3 end", 1e6, 1e6 + 10, ""},
		{"unknown functions", "1 gap 1;2 calls 4;3 caught 3;6 leave 3;7 idle;9 end", 3, 9, "none=2 lost=4"},
		{"empty span", "1 enter 7;2 leave 1;3 end", 2, 2, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tr := build(t, exact+tc.records)
			if o := tr.Realms[0].Offset; o.Mid() != 1e9 || o.Width() > 2e6 {
				t.Fatalf("offset %v", o)
			}
			var got []string
			for _, m := range tr.During(at(tc.from), at(tc.to)) {
				sum := m.Unexplained.Value + m.Lost.Value
				for _, s := range m.Functions {
					if ms := float64(s.Self.Value) / 1e6; ms > 0 || s.Self.High > 5e5 {
						got = append(got, fmt.Sprintf("%d=%g", s.Function, ms))
					}
					sum += s.Self.Value
				}
				got = append(got, fmt.Sprintf("none=%g lost=%g", float64(m.Unexplained.Value)/1e6,
					float64(m.Lost.Value)/1e6))
				if sum != int64(at(tc.to)-at(tc.from)) {
					t.Errorf("the parts amount to %d", sum)
				}
			}
			if text := strings.Join(got, " "); text != tc.want {
				t.Errorf("got %s, want %s", text, tc.want)
			}
		})
	}
}

func TestCallers(t *testing.T) {
	for _, tc := range []struct{ name, records, want string }{
		{"a helper", "1 enter 5;1 enter 6;1 enter 7;4 leave 3;4 enter 7;6 leave 4;7 leave 2;8 leave 1;9 end", "[6 5]"},
		{"the page", "1 enter 7;9 leave 1;10 end", "[]"},
		{"most of it", "1 enter 5;1 enter 7;3 leave 2;3 leave 1;3 idle;3 enter 6;3 enter 7;9 leave 4;9 leave 3;10 end",
			"[6]"},
		{"none has half", "1 enter 5;1 enter 7;3 leave 2;3 leave 1;3 enter 6;3 enter 7;5 leave 4;5 leave 3;" +
			"5 enter 4;5 enter 7;7 leave 6;7 leave 5;10 end", "[]"},
		{"recursion", "1 enter 5;1 enter 7;2 enter 7;2 enter 7;8 leave 4;8 leave 3;8 leave 2;9 leave 1;10 end", "[5]"},
		{"recursion of others", "1 enter 5;1 enter 7;1 enter 7;3 leave 3;3 leave 2;3 leave 1;3 enter 6;3 enter 7;" +
			"3 enter 7;5 leave 6;5 leave 5;5 leave 4;5 enter 4;5 enter 7;5 enter 7;7 leave 9;7 leave 8;7 leave 7;" +
			"10 end", "[]"},
		{"of itself through another", "1 enter 5;1 enter 7;2 enter 6;2 enter 7;9 leave 4;9 leave 3;9 leave 2;" +
			"9 leave 1;10 end", "[6 5]"},
		{"as a part of another", "1 enter 5;1 enter 6;2 enter 70;9 leave 3;9 leave 2;9 leave 1;10 end", "[6 5]"},
		{"a part of itself", "1 enter 5;1 enter 7;2 enter 71;9 leave 3;9 leave 2;9 leave 1;10 end", "[5]"},
		{"several parts of a caller", "1 enter 5;1 enter 6;1 enter 7;3 leave 3;3 enter 60;3 enter 7;6 leave 5;" +
			"6 leave 4;6 enter 61;6 enter 7;9 leave 7;9 leave 6;9 leave 2;9 leave 1;10 end", "[6 5]"},
		{"a generator", "1 enter 5;1 enter 7;2 suspend 2;2 leave 1;2 enter 6;2 resume 2;9 leave 2;9 leave 3;10 end",
			"[]"},
		{"two halves", "1 enter 5;1 enter 7;5 leave 2;5 leave 1;5 enter 6;5 enter 7;9 leave 4;9 leave 3;10 end", "[]"},
		{"many calls of one", "1 enter 4;1 enter 5;1 enter 7;2 leave 3;2 enter 7;3 leave 4;3 enter 7;4 leave 5;" +
			"4 enter 7;5 leave 6;5 leave 2;5 enter 6;5 enter 7;6.2 leave 8;6.2 leave 7;9 leave 1;10 end", "[5 4]"},
		{"two callers in one", "1 enter 4;1 enter 5;1 enter 7;5 leave 3;5 leave 2;5 enter 6;5 enter 7;8 leave 5;" +
			"8 leave 4;9 leave 1;10 end", "within [4]"},
		{"two callers in a resumed one", "1 enter 3;1 enter 4;1 suspend 2;1 leave 1;1 enter 2;1 resume 2;1 enter 5;" +
			"1 enter 7;5 leave 5;5 leave 4;5 enter 6;5 enter 7;8 leave 7;8 leave 6;9 leave 2;9 leave 3;10 end",
			"within [4 3]"},
		{"outside of the span", "1 enter 5;1 enter 7;1 leave 2;20 enter 7;30 leave 3;31 leave 1;32 end", "[]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			of := func(f uint32) uint32 { // 70 and 71 are parts of 7
				if f >= 60 {
					return f / 10
				}
				return f
			}
			got, direct := build(t, exact+tc.records).Realms[0].Callers(7, of, 1e9, 1e9+15e6, 4)
			text := fmt.Sprint(got)
			if len(got) > 0 && !direct {
				text = "within " + text
			}
			if text != tc.want {
				t.Errorf("got %s, want %s", text, tc.want)
			}
		})
	}
}

// TestDuringIsWidenedByTheOffset: the offset is known to 4 ms. So a call of 5 ms may be outside a
// span for 4 ms.
func TestDuringIsWidenedByTheOffset(t *testing.T) {
	tr := build(t, "0.1 start;1 asked;5 answered;1005000000 rig;20 enter 7;25 leave 1;40 end")
	if o := tr.Realms[0].Offset; o.Earliest > 1000e6 || o.Latest < 1004e6 || o.Width() > 4.3e6 {
		t.Fatalf("offset %v", o)
	}
	m := tr.During(1012e6, 1022e6)[0]
	if s := m.Functions[0].Self; s.Low > 0 || s.High < 2e6 || s.High > 2.4e6 {
		t.Errorf("%+v", s)
	}
	m = tr.During(1022e6, 1028e6)[0]
	if s := m.Functions[0].Self; s.Value < 3.9e6 || s.Low > 2e6 || s.Low < 1.6e6 || s.High < 5e6 || s.High > 5.4e6 {
		t.Errorf("%+v", s)
	}
	if s := m.Unexplained; s.High < 4e6 || s.High > 6e6 {
		t.Errorf("%+v", s)
	}
}

func TestDuringOfSeveralRealms(t *testing.T) {
	var all []Arrived
	for i, kind := range []record.RealmKind{record.Worker, record.Frame, record.Window} {
		b := batch(t, 0, exact+fmt.Sprintf("%d enter %d;9 leave 1;10 end", i+1, i+1))
		b.Realm, b.Kind = uint32(i+1), kind
		all = append(all, Arrived{2e9, b})
	}
	tr := Build(all, 0)
	var got []string
	for _, m := range tr.During(1000e6, 1010e6) {
		got = append(got, fmt.Sprint(tr.Realms[m.Realm].Kind, ":", m.Functions[0].Function, "=",
			m.Functions[0].Self.Value/1e6))
	}
	if text := strings.Join(got, " "); text != "window:3=6 frame:2=7 worker:1=8" {
		t.Error(text)
	}
}

// TestExceptionsAreBounds: the times between the last record of a call and the closing record may
// belong to the calls below.
func TestExceptionsAreBounds(t *testing.T) {
	tr := build(t, exact+"1 enter 7;2 enter 8;3 enter 9;7 caught 1;9 leave 1;10 end")
	const wrong = 300_000 // √4 · 1.2 steps, rounded up
	near := func(what string, got Span, value, low, high float64) {
		t.Helper()
		if math.Abs(float64(got.Value)-value*1e6) > 1 || math.Abs(float64(got.Low)-low*1e6) > wrong ||
			math.Abs(float64(got.High)-high*1e6) > wrong {
			t.Errorf("%s: %+v, want %g (%g–%g) ms", what, got, value, low, high)
		}
	}
	totals := map[uint32]Total{}
	for _, of := range tr.Totals() {
		totals[of.Function] = of
	}
	near("self of the thrower", totals[9].Self, 4, 0, 4)
	near("self between", totals[8].Self, 1, 0, 5)
	near("self of the catcher", totals[7].Self, 3, 3, 8)
	near("total of the thrower", totals[9].Total, 4, 0, 4)
	near("total between", totals[8].Total, 5, 0, 5)
	near("total of the catcher", totals[7].Total, 8, 8, 8)
	near("longest of the thrower", totals[9].Max, 4, 0, 4)
	shares := map[uint32]Span{}
	for _, share := range tr.During(1004e6, 1006e6)[0].Functions {
		shares[share.Function] = share.Self
	}
	near("thrower in the span", shares[9], 2, 0, 2)
	near("between in the span", shares[8], 0, 0, 2)
	near("catcher in the span", shares[7], 0, 0, 2)
	if got := tr.During(1004e6, 1006e6)[0].Unexplained; got.High > 2e6 {
		t.Errorf("unexplained %+v", got)
	}
}

// TestGapsAreBounds: a call on the stack may run through a gap.
func TestGapsAreBounds(t *testing.T) {
	tr := build(t, exact+"1 enter 7;3 gap 9;6 calls 5;8 idle;9 enter 8;9.5 leave 6;10 end")
	got := tr.Totals()[0]
	if got.Function != 7 || got.Open != 1 || got.Self.Value != 2e6 || got.Self.High < 7e6 || got.Total.High < 7e6 ||
		got.Total.High > 7.4e6 || got.Max.High < 7e6 || got.Self.Low < 1.7e6 {
		t.Errorf("%+v", got)
	}
	m := tr.During(1004e6, 1005e6)[0]
	if m.Functions[0].Self.High != 1e6 || m.Functions[0].Self.Value != 0 || m.Lost.Value != 1e6 {
		t.Errorf("%+v", m)
	}
}

// TestGapsOfPrograms: calls that have no part in a gap are exact.
func TestGapsOfPrograms(t *testing.T) {
	compared := 0
	for seed := range uint64(100) {
		p := newProgram(seed, 1, [2]int64{}).play()
		from := 30 + p.random.IntN(len(p.records)/2)
		to := from + 1 + p.random.IntN(len(p.records)-from-2)
		calls, lost := uint32(0), map[int]bool{}
		for i, r := range p.records[:to] {
			if r.Code == record.Enter {
				lost[int(calls)] = i >= from
				calls++
			}
		}
		begin, end := ns(p.records[from].At), ns(p.records[to].At)
		gap := []record.Record{
			{Code: record.Gap, Argument: uint16(record.RingFull), ID: uint32(to - from), At: float64(begin) / 1e6},
			{Code: record.Calls, ID: calls, At: float64(end) / 1e6}}
		p.records = append(append(append([]record.Record{}, p.records[:from]...), gap...), p.records[to:]...)
		tr := Build(p.batches(), 0)
		r := tr.Realms[0]
		if len(r.Gaps) != 1 || tr.Lost != int64(to-from) {
			t.Fatalf("seed %d: %+v", seed, r.Gaps)
		}
		for _, text := range tr.Problems {
			if !strings.Contains(text, "cost") {
				t.Errorf("seed %d: %s", seed, text)
			}
		}
		known := make([]Call, 0, len(r.Calls))
		for _, c := range r.Calls {
			if c.Function != 0 {
				known = append(known, c)
			}
		}
		for i, want := range p.calls {
			if lost[i] {
				continue
			}
			if len(known) == 0 {
				t.Fatalf("seed %d: call %d is missing", seed, i)
			}
			got := known[0]
			known = known[1:]
			if got.Function != want.Function || got.Begin != want.Begin {
				t.Fatalf("seed %d, call %d: got %+v, want %+v", seed, i, got, want.Call)
			}
			if want.finished && (want.End < begin || want.Begin > end) {
				compared++
				if got.End != want.End || got.Self != want.Self || got.Total != want.Total || got.Threw != want.Threw {
					t.Fatalf("seed %d, call %d:\ngot  %+v\nwant %+v", seed, i, got, want.Call)
				}
			}
		}
	}
	if compared < 5000 {
		t.Errorf("%d calls are compared", compared)
	}
}

func TestCallIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(Call{}); size > 56 {
		t.Errorf("a call has %d bytes", size)
	}
}
