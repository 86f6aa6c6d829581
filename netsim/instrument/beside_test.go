package instrument_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/eideticker/eideticker/netsim/ecma"
	"github.com/eideticker/eideticker/netsim/instrument"
	"github.com/eideticker/eideticker/netsim/instrument/policy"
	pageruntime "github.com/eideticker/eideticker/netsim/instrument/runtime"
	"github.com/eideticker/eideticker/netsim/internal/body"
)

// job is one of testdata/jobs.cjs, in one way to run it.
type job struct {
	Name     string            `json:"name"`
	Texts    map[string]string `json:"texts"` // of its files, by path below fromNPM
	Text     string            `json:"text"`
	Before   string            `json:"before"` // a program that runs before them
	Rounds   int               `json:"rounds"`
	Coverage bool              `json:"coverage"` // by V8
	args     []string
}

type jobResult struct {
	Hash    string  `json:"hash"`
	CPU     float64 `json:"cpu"`     // ms of a round
	Counted int     `json:"counted"` // calls of a round
	Begun   int     `json:"begun"`   // calls of the first round and of loading
	Lost    int     `json:"lost"`
}

// node runs a program of Node with an input and an output in JSON. Only a laptop may be without.
func node(t testing.TB, input, output any, args ...string) {
	t.Helper()
	program, err := exec.LookPath("node")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	text, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(text), os.Stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, output)
	}
	if err != nil {
		t.Fatalf("%s: %v", args, err)
	}
}

func (j job) run(t testing.TB) (r jobResult) {
	t.Helper()
	node(t, j, &r, append(j.args, "testdata/job.cjs")...)
	return r
}

// plainJobs returns the jobs of testdata/jobs.cjs, sorted by name.
func plainJobs(t testing.TB, rounds int) (all []job) {
	t.Helper()
	files := map[string]struct{ Files map[string]string }{}
	node(t, nil, &files, "--print", "JSON.stringify(require('./testdata/jobs.cjs'))")
	input := fromFile(t, fromNPM+"jquery/dist/jquery.js")
	for _, name := range slices.Sorted(maps.Keys(files)) {
		j := job{Name: name, Texts: map[string]string{}, Text: input, Rounds: rounds}
		for _, p := range files[name].Files {
			j.Texts[p] = fromFile(t, fromNPM+p)
		}
		all = append(all, j)
	}
	return all
}

// live returns a job with live gates. They close during its first rounds.
func (j job) live(t testing.TB) job {
	return j.with(t, instrument.Time, func(uint32) instrument.Gate { return instrument.Undecided })
}

// rewritten returns a job with instrumented files. Time calls the runtime of pages. Count adds to
// an array.
func (j job) rewritten(t testing.TB, shape instrument.Shape) job { return j.with(t, shape, nil) }

func (j job) with(t testing.TB, shape instrument.Shape, gate func(uint32) instrument.Gate) job {
	t.Helper()
	texts, first := map[string]string{}, uint32(1)
	for _, p := range slices.Sorted(maps.Keys(j.Texts)) {
		r, err := instrument.Rewrite(j.Texts[p], ecma.Script,
			instrument.Plan{Shape: shape, Nonce: nonce, First: first, Gate: gate})
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		texts[p], first = r.Text, first+uint32(len(r.Functions))
	}
	j.Texts = texts
	if shape == instrument.Count {
		j.Before = fmt.Sprintf(`(() => {
			const counts = new Uint32Array(%d), E = id => { counts[id]++; };
			Object.defineProperty(globalThis, 'E%s', {value: E});
			globalThis.callsOfJob = () => counts.reduce((a, b) => a + b);
		})()`, first, nonce)
		return j
	}
	all, err := policy.Named("calls")
	if err != nil {
		t.Fatal(err)
	}
	j.Before = pageruntime.Prelude(pageruntime.Options{Nonce: nonce, Collector: "http://rig.test/.eideticker/x/",
		Policies: []pageruntime.Policy{{Name: "calls", Text: all[0].Runtime}}, Gates: gate != nil, Live: gate != nil})
	return j
}

// TestJobs: jobs of libraries give the same text if their calls are counted or timed. Both see the
// same calls. TestProgramsRun runs acorn and lodash too. They run here in make soak, and so does
// d3.
func TestJobs(t *testing.T) {
	for _, j := range plainJobs(t, 0) {
		if slices.Contains([]string{"acorn", "d3", "lodash"}, j.Name) && !soak {
			continue
		}
		t.Run(j.Name, func(t *testing.T) {
			plain, count := j.run(t), j.rewritten(t, instrument.Count).run(t)
			timed := j.rewritten(t, instrument.Time).run(t)
			if plain.Hash == "" || count.Hash != plain.Hash || timed.Hash != plain.Hash {
				t.Errorf("the hashes are %s, counted %s, timed %s", plain.Hash, count.Hash, timed.Hash)
			}
			if count.Counted < 1000 || timed.Begun < count.Counted || timed.Lost > 0 {
				t.Errorf("%d calls of a round are counted, %d timed; %d records are lost", count.Counted, timed.Begun,
					timed.Lost)
			}
		})
	}
}

// BenchmarkGates prints the CPU time of jobs with closed gates as a ratio to the plain ones.
func BenchmarkGates(b *testing.B) {
	for b.Loop() {
		logs, t := 0.0, newTable()
		jobs := plainJobs(b, 6)
		for _, plain := range jobs {
			ratio := closedRatio(b, plain)
			logs += math.Log(ratio) / float64(len(jobs))
			t.row(plain.Name, ratio)
		}
		t.goal("closed gates, times plain", math.Exp(logs), true, 1.1)
		t.Flush()
		fmt.Printf("\n\n%s\n", t.text.String())
	}
}

// closedRatio returns the least CPU time of a job with closed gates, as a ratio to the plain one.
func closedRatio(b *testing.B, plain job) float64 {
	closed, best := plain.live(b), [2]float64{math.Inf(1), math.Inf(1)}
	for turn := range 6 {
		for i := range 2 {
			j := []job{plain, closed}[(i+turn)%2]
			best[(i+turn)%2] = min(best[(i+turn)%2], j.run(b).CPU)
		}
	}
	return best[1] / best[0]
}

// anchors is the output of testdata/anchors.mjs.
type anchors struct {
	Texts map[string]string             `json:"texts"`
	MS    map[string]map[string]float64 `json:"ms"`
	Clock float64                       `json:"clock"`
}

// table prints aligned rows, and goals with the figures reached.
type table struct {
	text bytes.Buffer
	*tabwriter.Writer
}

func newTable() *table {
	t := &table{}
	t.Writer = tabwriter.NewWriter(&t.text, 0, 0, 2, ' ', tabwriter.AlignRight)
	return t
}

func (t *table) row(cells ...any) {
	for _, c := range cells {
		switch c := c.(type) {
		case float64:
			fmt.Fprintf(t, "%.2f\t", c)
		default:
			fmt.Fprintf(t, "%v\t", c)
		}
	}
	fmt.Fprintln(t)
}

func (t *table) goal(name string, is float64, atMost bool, goal float64) {
	verdict, sign := "met", "≥"
	if atMost {
		sign = "≤"
	}
	if is > goal == atMost && is != goal {
		verdict = "not met"
	}
	t.row(name, is, sign, goal, verdict)
}

// BenchmarkBesideIstanbul prints ratios to other tools, which run in turns: istanbul, swc, V8's
// coverage and its sampling profiler. It asserts none of them.
func BenchmarkBesideIstanbul(b *testing.B) {
	for b.Loop() {
		jobs := plainJobs(b, 6)
		texts := map[string]string{}
		for _, p := range []string{"react-dom/cjs/react-dom-client.production.js", "vue/dist/vue.global.prod.js",
			"jquery/dist/jquery.min.js", "lodash/lodash.min.js"} {
			texts[p] = fromFile(b, fromNPM+p)
		}
		for _, j := range jobs {
			maps.Copy(texts, j.Texts)
		}
		others, goals := anchors{}, newTable()
		ours := rewriteTimes(b, texts, nil)
		node(b, map[string]any{"texts": texts, "turns": 3}, &others, "testdata/anchors/anchors.mjs")
		ours = rewriteTimes(b, texts, ours)
		goals.row("goal", "is", "", "goal", "")
		files := besideFiles(b, texts, ours, others, goals)
		cpu := besideJobs(b, jobs, others, goals)
		besideProofs(b, texts, goals)
		for _, t := range []*table{files, cpu, goals} {
			t.Flush()
			fmt.Printf("\n\n%s", t.text.String())
		}
		fmt.Println()
	}
}

// besideProofs adds the speed of a second response and the number of programs that are rewritten.
// It adds the number of libraries' tests that end as plain ones.
func besideProofs(b *testing.B, texts map[string]string, goals *table) {
	const path = "lodash/lodash.min.js"
	h := newInstrument(b, "calls").Wrap(site(map[string]answer{"/" + path: {texts[path], asScript, 0}}))
	least := math.Inf(1)
	for range 20 {
		begin := time.Now()
		exchange(h, "/"+path, "Sec-Fetch-Dest", "script")
		least = min(least, time.Since(begin).Seconds())
	}
	goals.goal("speed of a known program, MB/s", float64(len(texts[path]))/1e6/least, false, 500)
	done, all := len(texts), len(texts)
	tests, err := filepath.Glob(fromNPM + "test262-parser-tests/pass/*.js")
	if err != nil {
		b.Fatal(err)
	}
	for _, p := range tests {
		goal := ecma.Script
		if strings.HasSuffix(p, ".module.js") {
			goal = ecma.Module
		}
		src := fromFile(b, p)
		all++
		if _, err := instrument.Rewrite(src, goal, instrument.Plan{Nonce: instrument.Nonce(src)}); err == nil {
			done++
		}
	}
	goals.goal("programs rewritten", float64(done), false, float64(all))
	same, sum, names := 0, 0, ""
	for _, s := range suitesHere() {
		r := s.run(b)
		sum, names = sum+len(r.plain), names+" "+s.name
		for i := range min(len(r.plain), len(r.timed)) {
			if r.plain[i] == r.timed[i] {
				same++
			}
		}
	}
	goals.goal("tests that end as plain, of"+names, float64(same), false, float64(sum))
}

// rewriteTimes returns the least time of parsing and rewriting each text, in ms, on one processor.
func rewriteTimes(b *testing.B, texts map[string]string, least map[string]float64) map[string]float64 {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if least == nil {
		least = map[string]float64{}
	}
	for range 15 {
		for p, src := range texts {
			begin := time.Now()
			_, err := instrument.Rewrite(src, ecma.Script, instrument.Plan{Shape: instrument.Time, Nonce: nonce})
			ms := float64(time.Since(begin).Nanoseconds()) / 1e6
			if err != nil {
				b.Fatal(err)
			}
			least[p] = min(cmp.Or(least[p], ms), ms)
		}
	}
	return least
}

// besideFiles compares speed and bytes of rewritten files.
func besideFiles(b *testing.B, texts map[string]string, ours map[string]float64, others anchors, goals *table) *table {
	t, most, maxPacked, size, mine, sum := newTable(), 0.0, 0.0, 0, 0.0, map[string]float64{}
	t.row("file", "kB", "MB/s", "count ×", "time ×", "packed", "istanbul ×", "speed: istanbul ×", "swc ×")
	for _, p := range slices.Sorted(maps.Keys(texts)) {
		src := texts[p]
		packedOf := func(text string) float64 {
			out, err := body.Pack([]byte(text), []string{"gzip"})
			if err != nil {
				b.Fatal(err)
			}
			return float64(len(out))
		}
		packed := 0.0 // as pages get it
		grown := func(shape instrument.Shape) float64 {
			r, err := instrument.Rewrite(src, ecma.Script, instrument.Plan{Shape: shape, Nonce: "$n0n", Page: true})
			if err != nil {
				b.Fatal(err)
			}
			packed = packedOf(r.Text) / packedOf(src)
			return float64(len(r.Text)) / float64(len(src))
		}
		counted := grown(instrument.Count)
		timed, istanbul, swc := grown(instrument.Time), others.MS["istanbul"][p], others.MS["swc"][p]
		most, maxPacked = max(most, timed), max(maxPacked, packed)
		size, mine = size+len(src), mine+ours[p]
		sum["istanbul"] += istanbul
		sum["swc"] += swc
		kB := float64(len(src)) / 1000
		t.row(path.Base(p), int(kB), kB/ours[p], counted, timed, packed, float64(len(others.Texts[p]))/kB/1000,
			istanbul/ours[p], swc/ours[p])
	}
	t.row("all", size/1000, float64(size)/1000/mine, "", "", "", "", sum["istanbul"]/mine, sum["swc"]/mine)
	goals.goal("speed, times istanbul's", sum["istanbul"]/mine, false, 40)
	goals.goal("speed, times swc's", sum["swc"]/mine, false, 3)
	goals.goal("bytes with timing, worst file", most, true, 1.25)
	goals.goal("bytes with timing by gzip, worst file", maxPacked, true, 1.25)
	return t
}

// ways are the ways to run a job. The first is the one to which the others are compared.
var ways = []string{"plain", "count", "coverage", "istanbul", "time", "cpu-prof"}

// besideJobs compares the CPU time of jobs. The ways take turns.
func besideJobs(b *testing.B, jobs []job, others anchors, goals *table) *table {
	t, profiles := newTable(), b.TempDir()
	t.row("CPU of job", "ms", "count ×", "V8 coverage ×", "istanbul ×", "--cpu-prof ×", "time ×", "calls",
		"ns a timed call", "lost")
	logs, extra, calls := map[string]float64{}, 0.0, 0.0
	for _, plain := range jobs {
		all := map[string]job{"plain": plain, "count": plain.rewritten(b, instrument.Count),
			"time": plain.rewritten(b, instrument.Time)}
		coverage, istanbul, sampled := plain, plain, plain
		coverage.Coverage, sampled.args = true, []string{"--cpu-prof", "--cpu-prof-dir=" + profiles}
		istanbul.Texts = others.Texts
		all["coverage"], all["istanbul"], all["cpu-prof"] = coverage, istanbul, sampled
		best := map[string]jobResult{}
		for turn := range 3 {
			for i := range ways {
				way := ways[(i+turn)%len(ways)]
				r, known := all[way].run(b), best[way]
				if best["plain"].Hash != "" && r.Hash != best["plain"].Hash {
					b.Errorf("%s %s: the hash differs from the plain one", plain.Name, way)
				}
				if known.Hash == "" || r.CPU < known.CPU {
					best[way] = r
				}
			}
		}
		base, n, ratio := best["plain"].CPU, best["count"].Counted, map[string]float64{}
		for _, way := range ways {
			ratio[way] = best[way].CPU / base
			logs[way] += math.Log(ratio[way]) / float64(len(jobs))
		}
		extra, calls = extra+1e6*(best["time"].CPU-base), calls+float64(n)
		t.row(plain.Name, base, ratio["count"], ratio["coverage"], ratio["istanbul"], ratio["cpu-prof"], ratio["time"],
			n, 1e6*(best["time"].CPU-base)/float64(n), best["time"].Lost)
	}
	mean := func(way string) float64 { return math.Exp(logs[way]) }
	t.row("mean", "", mean("count"), mean("coverage"), mean("istanbul"), mean("cpu-prof"), mean("time"), int(calls),
		extra/calls, "")
	goals.goal("counting, times V8 coverage", mean("count")/mean("coverage"), true, 1)
	goals.goal("counting's extra, times istanbul's", (mean("count")-1)/(mean("istanbul")-1), true, 0.7)
	goals.goal("ns a timed call", extra/calls, true, 60)
	goals.row("of them two clock readings", 2*others.Clock, "", "", "")
	return t
}
