package profile_test

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/eideticker/eideticker/analyze/internal/analyzetest"
	"github.com/eideticker/eideticker/analyze/trace"
	"github.com/eideticker/eideticker/analyze/trace/profile"
	"github.com/eideticker/eideticker/netsim/instrument/record"
)

// names has hostile texts.
func names(function uint32) profile.Function {
	if function == 3 {
		return profile.Function{URL: "http://a.test/b.js", Line: 30, Column: 5}
	}
	return profile.Function{Name: fmt.Sprintf("f%d; \n\"x\"", function), URL: "http://a.test/a.js",
		Line: int(function) * 10}
}

// realms returns a trace of random calls: two realms with times in whole µs.
func realms() *trace.Trace {
	random := rand.New(rand.NewPCG(1, 2))
	var all []trace.Arrived
	for realm := range uint32(2) {
		b := &record.Batch{Kind: record.Window + record.RealmKind(realm), Realm: realm + 1, Sent: 1000,
			Details: []record.Detail{{Kind: "realm", URL: "http://a.test/; page"}}}
		now, calls := 1.0, uint32(0)
		add := func(code record.Code, id uint32) {
			b.Records = append(b.Records, record.Record{Code: code, ID: id, At: now})
			now += float64(random.IntN(300)) / 1000
		}
		add(record.Happened, 0)
		var stack []uint32
		for range 3000 {
			if len(stack) < 5 && random.IntN(2) == 0 {
				calls++
				stack = append(stack, calls)
				add(record.Enter, 1+uint32(random.IntN(4)))
			} else if n := len(stack); n > 0 {
				add(record.Leave, stack[n-1])
				if stack = stack[:n-1]; n == 1 {
					add(record.Idle, 0)
				}
			}
		}
		for n := len(stack); n > 0; n-- {
			add(record.Leave, stack[n-1])
		}
		add(record.Idle, 0)
		add(record.End, 0)
		all = append(all, trace.Arrived{At: 1e12, Batch: b})
	}
	return trace.Build(all, 0)
}

// selfTimes sums the self times of functions by their names in exports.
func selfTimes(rs ...*trace.Realm) map[string]int64 {
	sums := map[string]int64{}
	for _, r := range rs {
		for _, c := range r.Calls {
			sums[shown(c.Function)] += c.Self
		}
	}
	return sums
}

func shown(function uint32) string {
	if function == 3 {
		return "(anonymous) http://a.test/b.js:30"
	}
	return fmt.Sprintf("f%d:  \"x\" http://a.test/a.js:%d", function, function*10)
}

func equal(t *testing.T, got, want map[string]int64) {
	t.Helper()
	if len(got) != len(want) || len(want) < 4 {
		t.Errorf("%d functions, want %d: %v", len(got), len(want), got)
	}
	for name, ns := range want {
		if got[name] != ns {
			t.Errorf("%q: %d, want %d", name, got[name], ns)
		}
	}
}

func TestFolded(t *testing.T) {
	tr := realms()
	var out bytes.Buffer
	analyzetest.Check(t, profile.Folded(&out, tr, names))
	got, stacks := map[string]int64{}, map[string]bool{}
	for line := range strings.Lines(out.String()) {
		line = strings.TrimSuffix(line, "\n")
		stack, text, ok := cutLast(line, " ")
		ns, err := strconv.ParseInt(text, 10, 64)
		frames := strings.Split(stack, ";")
		if !ok || err != nil || stacks[stack] || len(frames) > 6 || !strings.Contains(frames[0],
			" http://a.test/: page") {
			t.Fatalf("%q: %v", line, err)
		}
		stacks[stack] = true
		got[frames[len(frames)-1]] += ns
	}
	equal(t, got, selfTimes(tr.Realms...))
	for _, kind := range []string{"window http", "frame http"} {
		if !strings.HasPrefix(out.String(), kind) && !strings.Contains(out.String(), "\n"+kind) {
			t.Errorf("no stack begins with %s", kind)
		}
	}
}

func cutLast(text, separator string) (before, after string, found bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
}

// TestCPUProfile reads the profile as DevTools do: a sample lasts until the next one.
func TestCPUProfile(t *testing.T) {
	r := realms().Realms[0]
	var out bytes.Buffer
	analyzetest.Check(t, profile.CPUProfile(&out, r, names))
	var p struct {
		Nodes []struct {
			ID        int
			HitCount  int
			Children  []int
			CallFrame struct {
				FunctionName, ScriptID, URL string
				LineNumber, ColumnNumber    int
			}
		}
		StartTime, EndTime int64
		Samples            []int
		TimeDeltas         []int64
	}
	d := json.NewDecoder(&out)
	d.DisallowUnknownFields()
	analyzetest.Check(t, d.Decode(&p))
	byID, parents, hits := map[int]int{}, map[int]int{}, map[int]int{}
	for i, n := range p.Nodes {
		byID[n.ID] = i
		for _, c := range n.Children {
			parents[c]++
		}
	}
	if len(byID) != len(p.Nodes) || p.Nodes[0].CallFrame.FunctionName != "(root)" || len(parents) != len(p.Nodes)-1 {
		t.Fatalf("%d nodes, %d with parents", len(p.Nodes), len(parents))
	}
	got, now := map[string]int64{}, p.StartTime
	for i, id := range p.Samples {
		n, ok := byID[id]
		if !ok || p.TimeDeltas[i] < 0 {
			t.Fatalf("sample %d: node %d, %d µs", i, id, p.TimeDeltas[i])
		}
		hits[id]++
		now += p.TimeDeltas[i]
		until := p.EndTime - now
		if i+1 < len(p.Samples) {
			until = p.TimeDeltas[i+1]
		}
		f := p.Nodes[n].CallFrame
		if f.FunctionName == "(idle)" {
			continue
		}
		number := uint32(f.LineNumber+1) / 10
		if want := names(number); f.FunctionName != want.Name || f.URL != want.URL || f.ScriptID == "0" {
			t.Fatalf("%+v", f)
		}
		got[shown(number)] += until * 1000
	}
	equal(t, got, selfTimes(r))
	for _, n := range p.Nodes {
		if n.HitCount != hits[n.ID] || n.ID > 1 && parents[n.ID] != 1 {
			t.Errorf("node %d: %d hits, want %d; %d parents", n.ID, n.HitCount, hits[n.ID], parents[n.ID])
		}
	}
	if now > p.EndTime {
		t.Errorf("the last sample is at %d, the end at %d", now, p.EndTime)
	}
}

func TestCallgrind(t *testing.T) {
	tr := realms()
	var out bytes.Buffer
	analyzetest.Check(t, profile.Callgrind(&out, tr, names))
	got, inclusive, calls := map[string]int64{}, map[string]int64{}, map[string]int64{}
	known := map[string]string{} // names by their numbers
	expand := func(text string) string {
		number, name, first := strings.Cut(text, " ")
		if first {
			known[number] = name
		}
		return known[number]
	}
	var fn, callee, header string
	lines := bufio.NewScanner(&out)
	for lines.Scan() {
		line := lines.Text()
		name, value, ok := strings.Cut(line, "=")
		switch {
		case !ok && (line == "" || line[0] < '0' || line[0] > '9'):
			header += line + "\n"
		case ok && name == "fl" || name == "cfi":
			if file := expand(value); file != "???" && !strings.HasPrefix(file, "http://a.test/") {
				t.Fatalf("%q", line)
			}
		case ok && name == "fn":
			fn, _, _ = cutLast(expand(value), " #")
		case ok && name == "cfn":
			callee, _, _ = cutLast(expand(value), " #")
		case ok && name == "calls":
			var n, target, at, ns int64
			if _, err := fmt.Sscan(value, &n, &target); err != nil || !lines.Scan() {
				t.Fatalf("%q: %v", line, err)
			}
			if _, err := fmt.Sscan(lines.Text(), &at, &ns); err != nil {
				t.Fatalf("%q: %v", lines.Text(), err)
			}
			inclusive[callee] += ns
			calls[callee] += n
		default:
			var at, ns int64
			if _, err := fmt.Sscan(line, &at, &ns); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			got[fn] += ns
		}
	}
	equal(t, got, selfTimes(tr.Realms...))
	const want = "# callgrind format\nversion: 1\ncreator: eideticker\npositions: line\nevents: ns\nsummary: "
	if !strings.HasPrefix(header, want) {
		t.Errorf("header %q", header)
	}
	total, number := map[string]int64{}, map[string]int64{}
	for _, r := range tr.Realms {
		for _, c := range r.Calls {
			total[shown(c.Function)] += c.Total
			number[shown(c.Function)]++
		}
	}
	equal(t, inclusive, total)
	equal(t, calls, number)
}

// full is a disk without space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space") }

func TestErrorsOfTheDiskAreReturned(t *testing.T) {
	tr := realms()
	for name, err := range map[string]error{
		"folded": profile.Folded(full{}, tr, names), "callgrind": profile.Callgrind(full{}, tr, names),
		"cpuprofile": profile.CPUProfile(full{}, tr.Realms[0], names),
		"pprof":      profile.PProf(full{}, tr, names), "svg": profile.Flame(full{}, tr, names),
	} {
		if err == nil || !strings.Contains(err.Error(), "no space") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestPProf reads the profile with pprof's own package.
func TestPProf(t *testing.T) {
	tr := realms()
	var out bytes.Buffer
	analyzetest.Check(t, profile.PProf(&out, tr, names))
	p, err := pprof.Parse(&out)
	if err == nil {
		err = p.CheckValid()
	}
	if err != nil {
		t.Fatal(err)
	}
	got, calls, wanted := map[string]int64{}, map[string]int64{}, map[string]int64{}
	for _, s := range p.Sample {
		f := s.Location[0].Line[0].Function
		last := s.Location[len(s.Location)-1].Line[0].Function
		if len(s.Location) < 2 || len(s.Location) > 6 || !strings.Contains(last.Name, " http://a.test/: page") {
			t.Fatalf("the stack %v", s)
		}
		name := fmt.Sprintf("%s %s:%d", f.Name, f.Filename, f.StartLine)
		calls[name] += s.Value[0]
		got[name] += s.Value[1]
	}
	for _, r := range tr.Realms {
		for _, c := range r.Calls {
			wanted[shown(c.Function)]++
		}
	}
	equal(t, got, selfTimes(tr.Realms...))
	equal(t, calls, wanted)
	if p.DefaultSampleType != "time" || p.DurationNanos < 400e6 {
		t.Errorf("the type %q, %d ns", p.DefaultSampleType, p.DurationNanos)
	}
}

// bar is a function of a flame graph.
type bar struct {
	Title string `xml:"title"`
	Rect  struct {
		X      float64 `xml:"x,attr"`
		Y      int     `xml:"y,attr"`
		Width  float64 `xml:"width,attr"`
		Height int     `xml:"height,attr"`
	} `xml:"rect"`
	Text string `xml:"text"`
}

// bars draws a flame graph. Its text is XML without scripts.
func bars(t *testing.T, tr *trace.Trace) (all []bar, size int) {
	t.Helper()
	var out bytes.Buffer
	analyzetest.Check(t, profile.Flame(&out, tr, names))
	if strings.Contains(out.String(), "<script") {
		t.Error("the picture has a script")
	}
	size = out.Len()
	var svg struct {
		Bars []bar `xml:"g"`
	}
	d := xml.NewDecoder(&out)
	analyzetest.Check(t, d.Decode(&svg))
	return svg.Bars, size
}

// TestFlame: bars of one row do not overlap, and each is within a bar above it.
func TestFlame(t *testing.T) {
	tr := realms()
	all, _ := bars(t, tr)
	self := map[string]float64{}
	titles := regexp.MustCompile(`^(.*): [0-9.]+ ms \([0-9.]+ %\), self ([0-9.]+) ms, [0-9,]+ calls?$`)
	rows := map[int][]bar{}
	for _, b := range all {
		m := titles.FindStringSubmatch(b.Title)
		if m == nil || b.Rect.X < 10 || b.Rect.X+b.Rect.Width > 1210.2 {
			t.Fatalf("%+v", b)
		}
		ms, _ := strconv.ParseFloat(m[2], 64)
		self[m[1]] += ms
		rows[b.Rect.Y] = append(rows[b.Rect.Y], b)
	}
	const near = 0.11 // of the rounding
	for y, row := range rows {
		slices.SortFunc(row, func(a, b bar) int { return cmp.Compare(a.Rect.X, b.Rect.X) })
		for i, b := range row {
			if i > 0 && row[i-1].Rect.X+row[i-1].Rect.Width > b.Rect.X+near {
				t.Errorf("%+v overlaps %+v", row[i-1], b)
			}
			above, ok := rows[y-b.Rect.Height-1]
			if ok && !slices.ContainsFunc(above, func(a bar) bool {
				return a.Rect.X <= b.Rect.X+near && a.Rect.X+a.Rect.Width+near >= b.Rect.X+b.Rect.Width
			}) {
				t.Errorf("%+v is not within a bar above", b)
			}
		}
	}
	for name, ns := range selfTimes(tr.Realms...) {
		if ms := float64(ns) / 1e6; self[strings.ReplaceAll(name, "\n", " ")] < 0.95*ms {
			t.Errorf("%s: %.2f ms, want about %.2f", name, self[name], ms)
		}
	}
}

// TestHostileCallsStayBounded: deep and different stacks of functions with long names have bounded
// outputs in all formats.
//
// Fault: Pages that claim deep stacks, many functions and long names
func TestHostileCallsStayBounded(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	b := &record.Batch{Kind: record.Window, Realm: 1, Sent: 1e9}
	now, calls := 1.0, uint32(0)
	for range 40 {
		for range 2000 {
			calls++
			b.Records = append(b.Records, record.Record{Code: record.Enter, ID: 1 + uint32(random.IntN(1000)), At: now})
			now++
		}
		b.Records = append(b.Records, record.Record{Code: record.Leave, ID: calls - 1999, At: now},
			record.Record{Code: record.Idle, At: now})
	}
	long := func(n uint32) profile.Function {
		return profile.Function{Name: strings.Repeat("é", 4000), URL: strings.Repeat("ü", 4000), Line: int(n)}
	}
	tr := trace.Build([]trace.Arrived{{At: 1e15, Batch: b}}, 0)
	for name, write := range map[string]func(io.Writer, *trace.Trace, profile.Names) error{
		"folded": profile.Folded, "callgrind": profile.Callgrind, "pprof": profile.PProf, "svg": profile.Flame,
		"cpuprofile": func(w io.Writer, t *trace.Trace, names profile.Names) error {
			return profile.CPUProfile(w, t.Realms[0], names)
		},
	} {
		out := &counter{}
		analyzetest.Check(t, write(out, tr, long))
		// A stack of the folded form has up to 500 names, of which 4 million are allowed in all.
		if limit := map[string]int64{"folded": 4_000_000 * 420, "svg": 5 << 20}[name]; out.n == 0 ||
			out.n > cmp.Or(limit, 60<<20) {
			t.Errorf("%s: %d bytes", name, out.n)
		}
	}
}

type counter struct{ n int64 }

func (c *counter) Write(b []byte) (int, error) {
	c.n += int64(len(b))
	return len(b), nil
}

// TestDeepCallsStayBounded: 20,000 nested calls of one function give at most 500 lines.
func TestDeepCallsStayBounded(t *testing.T) {
	b := &record.Batch{Kind: record.Window, Realm: 1, Sent: 30000}
	for i := range 20_000 {
		b.Records = append(b.Records, record.Record{Code: record.Enter, ID: 7, At: float64(i + 1)})
	}
	tr := trace.Build([]trace.Arrived{{At: 1e12, Batch: b}}, 0)
	var out bytes.Buffer
	analyzetest.Check(t, profile.Folded(&out, tr, names))
	if n := strings.Count(out.String(), "\n"); n != 500 || out.Len() > 10<<20 {
		t.Errorf("%d lines, %d bytes", n, out.Len())
	}
	if !strings.HasSuffix(out.String(), fmt.Sprintf(" %d\n", (20_000-500)*1_000_000)) {
		t.Errorf("the last line has %.60s", out.String()[out.Len()-60:])
	}
}
