package trace

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/capture/timeline"
	"github.com/eideticker/eideticker/netsim/instrument/record"
)

// hostile turns bytes into batches: 4 bytes a record. Numbers and times are small, so they often
// name calls that exist.
func hostile(raw []byte) (all []Arrived) {
	b := &record.Batch{Kind: record.Window, Realm: 1, Details: []record.Detail{{Kind: "error"}}}
	now := 0.0
	for ; len(raw) >= 4; raw = raw[4:] {
		code := record.Code(raw[0]%25) + 1
		if code > record.End+2 {
			code += record.Lag - record.End - 3 // of Node programs
		} else if code > record.End { // the next batch
			all = append(all, Arrived{timeline.Time(binary.LittleEndian.Uint16(raw[1:])) * 1e6, b})
			next := &record.Batch{Kind: record.Window, Realm: uint32(raw[1]%2) + 1,
				Sequence: b.Sequence + uint32(raw[2]%3),
				Sent:     now, Dropped: int(raw[3] % 2), Details: b.Details}
			b = next
			continue
		}
		now += float64(int8(raw[3])) / 8
		b.Records = append(b.Records, record.Record{Code: code, Argument: uint16(raw[2]) % 4,
			ID: uint32(raw[1]), At: max(0, now)})
	}
	return append(all, Arrived{1e9, b})
}

// checkSteps reports steps that are not nested.
func checkSteps(t *testing.T, r *Realm) {
	t.Helper()
	var stack []int32
	last, notes := int64(0), 0
	r.Steps(func(s Step) bool {
		switch n := len(stack); {
		case s.At < last:
			t.Fatalf("%+v precedes %d", s, last)
		case s.Kind == Called || s.Kind == Resumed:
			stack = append(stack, s.Call)
		case n == 0 || stack[n-1] != s.Call:
			t.Fatalf("%+v within %d", s, stack)
		default:
			stack = stack[:n-1]
		}
		last = s.At
		return true
	}, func(n Note) bool {
		if notes++; n.Call >= int32(len(r.Calls)) {
			t.Fatalf("%+v of %d calls", n, len(r.Calls))
		}
		return true
	})
	if len(stack) > 0 || notes != len(r.Notes) {
		t.Fatalf("calls %d have no end; %d of %d notes", stack, notes, len(r.Notes))
	}
	r.Steps(func(Step) bool { return false }, func(Note) bool { return false })
}

// check reports results that contradict each other.
func check(t *testing.T, tr *Trace) {
	t.Helper()
	ordered := func(what string, s Span) {
		if s.Low < 0 || s.Low > s.Value || s.Value > s.High {
			t.Fatalf("%s: %+v", what, s)
		}
	}
	whole := int64(0)
	for _, r := range tr.Realms {
		self := int64(0)
		for i, c := range r.Calls {
			if c.Self < 0 || c.Total < c.Self || c.Begin > c.End || int(c.Parent) >= i ||
				c.Parent >= 0 && r.Calls[c.Parent].Begin > c.Begin || c.End > r.End {
				t.Fatalf("call %d: %+v", i, c)
			}
			self += c.Self
		}
		if !r.Offset.Valid() || r.Step < minStep || self > r.End-r.Begin {
			t.Fatalf("offset %v, step %d, self %d of %d", r.Offset, r.Step, self, r.End-r.Begin)
		}
		whole += self
		checkSteps(t, r)
		for i, at := range r.at {
			if i > 0 && at < r.at[i-1] {
				t.Fatal("the course goes back")
			}
		}
		for _, g := range r.Gaps {
			if g.From > g.To {
				t.Fatalf("gap %+v", g)
			}
		}
	}
	self := int64(0)
	for _, of := range tr.Totals() {
		ordered("self", of.Self)
		ordered("total", of.Total)
		ordered("min", of.Min)
		ordered("mean", of.Mean)
		ordered("max", of.Max)
		if of.Min.Value > of.Mean.Value || of.Mean.Value > of.Max.Value ||
			of.Lasted[0] < 0 || of.Lasted[0] > of.Lasted[1] || of.Lasted[1] > of.Lasted[2] ||
			of.Self.Value > of.Total.Value+int64(of.Calls) &&
				tr.Counted.High == 0 {
			t.Fatalf("%+v", of)
		}
		self += of.Self.Value
	}
	if self > whole+whole/1e12+int64(len(tr.Totals())) { // rounded
		t.Fatalf("functions have %d, calls %d: %+v", self, whole, tr.Totals())
	}
	for _, task := range tr.Tasks() {
		ordered("task", task.Self)
		if task.Begin > task.End || task.Self.High > task.End-task.Begin {
			t.Fatalf("%+v", task)
		}
	}
	for _, span := range [][2]timeline.Time{{math.MinInt64, math.MaxInt64}, {0, 1e9}, {5e8, 5e8 + 1e6}} {
		for _, m := range tr.During(span[0], span[1]) {
			ordered("unexplained", m.Unexplained)
			ordered("lost", m.Lost)
			for _, s := range m.Functions {
				ordered("share", s.Self)
			}
		}
	}
}

func FuzzBuild(f *testing.F) {
	random := rand.New(rand.NewPCG(3, 4))
	for size := range 20 {
		raw := make([]byte, 40*size)
		for i := range raw {
			raw[i] = byte(random.Uint32())
			if i%4 == 3 {
				raw[i] &= 15 // mostly forwards
			}
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) { check(t, Build(hostile(raw), 1e6)) })
}

// TestBatchesOfAnyBytes: batches that Decode accepts never fail.
func TestBatchesOfAnyBytes(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		raw := record.Batch{Kind: record.Window, Realm: 1, Records: make([]record.Record, 200)}.Append(nil)
		for i := 40; i < len(raw); i++ {
			raw[i] = byte(random.Uint32())
		}
		for i := 40; i < len(raw); i += 16 {
			raw[i], raw[i+1] = raw[i]%20, 0
			if raw[i+15] &= 0x43; random.IntN(3) > 0 {
				raw[i+5], raw[i+6], raw[i+7] = 0, 0, 0
			}
		}
		b := analyzetest.Must(record.Decode(raw))(t)
		b.Dropped = 0
		check(t, Build([]Arrived{{1e9, &b}}, 0))
	}
}

// many returns a batch-like list of n records, which a function makes.
func many(n int, make func(i int) record.Record) []Arrived {
	var all []Arrived
	for i := 0; i < n; {
		b := &record.Batch{Kind: record.Window, Realm: 1, Sequence: uint32(len(all)), Sent: float64(n)}
		for ; len(b.Records) < record.MaxRecords && i < n; i++ {
			b.Records = append(b.Records, make(i))
		}
		all = append(all, Arrived{1e12, b})
	}
	return all
}

// TestMemoryPerRecord: hostile records need no more memory than Build states.
func TestMemoryPerRecord(t *testing.T) {
	const n = 100_000
	at := func(i int) float64 { return float64(i) / 10 }
	for name, make := range map[string]func(i int) record.Record{
		"depth": func(i int) record.Record { return record.Record{Code: record.Enter, ID: 7, At: at(i)} },
		"depth, then an exception": func(i int) record.Record {
			if i == n-1 {
				return record.Record{Code: record.Caught, ID: 1, At: at(i)}
			}
			return record.Record{Code: record.Enter, ID: uint32(i), At: at(i)}
		},
		"calls": func(i int) record.Record {
			return record.Record{Code: record.Enter + record.Code(i%2), ID: uint32(i/2 + 1), At: at(i)}
		},
		"exceptions": func(i int) record.Record {
			if i%2 == 0 {
				return record.Record{Code: record.Enter, ID: uint32(i + 1), At: at(i)}
			}
			return record.Record{Code: record.Idle, At: at(i)}
		},
		"suspensions": func(i int) record.Record {
			return record.Record{Code: [...]record.Code{record.Enter, record.Suspend, record.Resume,
				record.Suspend}[i%4],
				ID: uint32(i/4 + 1), At: at(i)}
		},
		"suspended in finally": func(i int) record.Record {
			return record.Record{Code: [...]record.Code{record.Enter, record.Reopen, record.Suspend, record.Idle}[i%4],
				ID: uint32(i/4 + 1), At: at(i)}
		},
		"calls of a gap": func(i int) record.Record {
			switch i {
			case 0:
				return record.Record{Code: record.Gap, Argument: 1}
			case 1:
				return record.Record{Code: record.Calls, ID: math.MaxUint32}
			}
			return record.Record{Code: record.Resume, ID: uint32(i), At: at(i)}
		},
		"gaps": func(i int) record.Record {
			switch i % 3 {
			case 0:
				return record.Record{Code: record.Gap, Argument: 1, At: at(i)}
			case 1:
				return record.Record{Code: record.Calls, ID: uint32(i), At: at(i)}
			}
			return record.Record{Code: record.Enter, ID: 7, At: at(i)}
		},
		"lost calls": func(i int) record.Record { return record.Record{Code: record.Calls, ID: uint32(i), At: at(i)} },
		"details":    func(i int) record.Record { return record.Record{Code: record.Happened, At: at(i)} },
		"questions": func(i int) record.Record {
			return record.Record{Code: record.Asked + record.Code(i%3), ID: uint32(i / 3), At: at(i)}
		},
		"costs": func(i int) record.Record { return record.Record{Code: record.Cost, ID: 1, At: at(i)} },
	} {
		all := many(n, make)
		all[0].Batch.Details = []record.Detail{{Kind: "error"}}
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		tr := Build(all, 0)
		runtime.GC()
		runtime.ReadMemStats(&after)
		kept := float64(int64(after.HeapAlloc)-int64(before.HeapAlloc)) / n
		whole := float64(after.TotalAlloc-before.TotalAlloc) / n
		if kept > maxPerRecord || whole > 8*maxPerRecord {
			t.Errorf("%s: Build keeps %.0f bytes a record and allocates %.0f; limit %d", name, kept, whole,
				maxPerRecord)
		}
		check(t, tr)
	}
}

// maxPerRecord is the memory that the package's comment states.
const maxPerRecord = 400

// calls returns records of n calls, eight deep.
func calls(n int) []Arrived {
	depth := 0
	var stack []uint32
	next := uint32(1)
	return many(2*n, func(i int) record.Record {
		at := float64(i/5) / 10
		if depth < 8 && int(next) <= n && (i*7%11 < 6 || depth == 0) {
			depth++
			stack = append(stack, next)
			next++
			return record.Record{Code: record.Enter, ID: uint32(1 + i%500), At: at}
		}
		depth--
		id := stack[depth]
		stack = stack[:depth]
		return record.Record{Code: record.Leave, ID: id, At: at}
	})
}

func BenchmarkBuild(b *testing.B) {
	const n = 1_000_000
	all := calls(n)
	b.ReportAllocs()
	for b.Loop() {
		if tr := Build(all, 0); len(tr.Realms[0].Calls) != n {
			b.Fatal(len(tr.Realms[0].Calls))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/call")
}

func BenchmarkResults(b *testing.B) {
	tr := Build(calls(1_000_000), 0)
	b.Run("Totals", func(b *testing.B) {
		for b.Loop() {
			tr.Totals()
		}
	})
	b.Run("Tasks", func(b *testing.B) {
		for b.Loop() {
			tr.Tasks()
		}
	})
	b.Run("During", func(b *testing.B) {
		from := tr.Realms[0].When(20e9).Mid()
		for b.Loop() {
			tr.During(from, from+100e6)
		}
	})
}
