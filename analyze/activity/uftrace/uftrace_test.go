package uftrace

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/activitytest"
)

// run runs a program, or skips the test where there is none.
func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v: %s", name, args, err, out)
	}
}

// callgrind returns the calls of each function by valgrind's counts.
func callgrind(t *testing.T, program string) map[string]int64 {
	t.Helper()
	out := filepath.Join(t.TempDir(), "callgrind.out")
	run(t, "valgrind", "-q", "--tool=callgrind", "--callgrind-out-file="+out, program)
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	names, calls, callee := map[string]string{}, map[string]int64{}, ""
	function := regexp.MustCompile(`^c?fn=(\(\d+\))(?: (.*))?$`)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if m := function.FindStringSubmatch(line); m != nil {
			if m[2] != "" {
				names[m[1]], _, _ = strings.Cut(m[2], "'") // fib'2 is a recursive call
			}
			if strings.HasPrefix(line, "c") {
				callee = names[m[1]]
			}
		} else if n, ok := strings.CutPrefix(line, "calls="); ok {
			n, _, _ = strings.Cut(n, " ")
			count, err := strconv.ParseInt(n, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			calls[callee] += count
		}
	}
	return calls
}

func TestCallsEqualCallgrind(t *testing.T) {
	dir := t.TempDir()
	build := func(name string, flags ...string) string {
		path := filepath.Join(dir, name)
		run(t, "gcc", append(flags, "-g", "-O1", "-o", path, "testdata/calls.c", "-lpthread")...)
		return path
	}
	counted := callgrind(t, build("plain"))
	want := map[string]int64{}
	for _, name := range []string{"main", "fib", "inner", "jumps", "thread", "last", "outer"} {
		want[name] = counted[name]
	}
	if want["fib"] != 577 || want["inner"] != 15 {
		t.Fatalf("callgrind counts %v", want)
	}
	for _, tc := range []struct{ name, flags, record string }{
		{"pg", "-pg", ""}, {"fentry", "-pg -mfentry", ""}, {"no pie", "-pg -no-pie", ""},
		{"instrument functions", "-finstrument-functions", ""},
		{"patchable", "-fpatchable-function-entry=5", "-P ."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			program := build("program", strings.Fields(tc.flags)...)
			data := t.TempDir()
			run(t, "uftrace", append(append([]string{"record", "-d", data}, strings.Fields(tc.record)...), program)...)
			var s activitytest.Sink
			counts, err := Read(os.DirFS(data), &s)
			if err != nil || len(counts.Skipped) > 0 || counts.Lost > 0 {
				t.Fatalf("%+v, %v", counts, err)
			}
			got := map[string]int64{}
			for _, e := range s.Events {
				if name := s.Functions[e.Ref-1].Name; e.Kind == activity.Call && want[name] > 0 {
					got[name]++
				}
			}
			if !maps.Equal(got, want) {
				t.Errorf("calls are %v, want %v", got, want)
			}
			nested(t, &s)
			// Calls of inner and longjmp do not return. Neither do main, outer, last, exit.
			if want := int64(15 + 5 + 4); counts.Closed != want {
				t.Errorf("%d calls have no return, want %d", counts.Closed, want)
			}
			if len(s.Threads) != 4 {
				t.Errorf("threads are %+v", s.Threads)
			}
		})
	}
}

// nested checks that the calls of each thread return in the reverse order.
func nested(t *testing.T, s *activitytest.Sink) {
	t.Helper()
	open := map[uint32][]uint32{}
	for _, e := range s.Events {
		calls := open[e.Thread]
		switch e.Kind {
		case activity.Call:
			open[e.Thread] = append(calls, e.Ref)
		case activity.Return:
			if len(calls) == 0 || calls[len(calls)-1] != e.Ref {
				t.Fatalf("function %d of thread %d returns from %v", e.Ref, e.Thread, calls)
			}
			open[e.Thread] = calls[:len(calls)-1]
		}
	}
	for thread, calls := range open {
		if len(calls) > 0 {
			t.Errorf("%v of thread %d do not return", calls, thread)
		}
	}
}

// word is a record of a file.
func word(at int64, kind, depth int, addr uint64) []byte {
	raw := binary.LittleEndian.AppendUint64(nil, uint64(at))
	return binary.LittleEndian.AppendUint64(raw, uint64(kind)|magic<<3|uint64(depth)<<6|addr<<16)
}

const (
	tasks = "SESS timestamp=1.000000000 pid=7 sid=ab exename=\"/bin/my app\"\n" +
		"TASK timestamp=1.000000000 tid=7 pid=7\nTASK timestamp=2.000000000 tid=8 pid=7\n" +
		"FORK timestamp=3.000000000 pid=9 ppid=7\nTASK timestamp=5.000000000 tid=8 pid=7\n"
	addresses = "1000-3000 r-xp 00000000 00:00 0     /bin/my app build-id:cd\n"
	names     = "# path name: /bin/my app\n" +
		"0000000000000100 T main\n0000000000000200 t f\n0000000000000300 ? __sym_end\n"
)

func folder(tasks, addresses, names string, threads map[int][]byte) fs.FS {
	files := fstest.MapFS{"task.txt": {Data: []byte(tasks)}, "sid-ab.map": {Data: []byte(addresses)},
		"app.sym": {Data: []byte(names)}, "perf-cpu0.dat": {Data: []byte("other")}}
	for tid, text := range threads {
		files[fmt.Sprint(tid, ".dat")] = &fstest.MapFile{Data: text}
	}
	return files
}

func TestRecords(t *testing.T) {
	for _, tc := range []struct {
		name    string
		threads map[int][]byte
		want    []string
		skipped string
	}{
		{"two threads", map[int][]byte{7: slices.Concat(word(10e8, entry, 0, 0x1100), word(40e8, exit, 0, 0x1100)),
			8: slices.Concat(word(20e8, entry, 0, 0x1210), word(30e8, exit, 0, 0x1210))},
			[]string{"10 call main 7", "20 call f 8", "30 return f 8", "40 return main 7"}, "map[]"},
		{"unknown places", map[int][]byte{7: slices.Concat(word(10e8, entry, 0, 0x1310), word(20e8, entry, 1, 0x9000))},
			[]string{"10 call /bin/my app+0x310 7", "20 call +0x9000 7", "20 return +0x9000 7 late",
				"20 return /bin/my app+0x310 7 late"}, "map[]"},
		{"call at the depth of an open one", map[int][]byte{7: slices.Concat(word(10e8, entry, 0, 0x1100),
			word(11e8, entry, 1, 0x1200), word(12e8, entry, 1, 0x1200), word(13e8, exit, 0, 0x1100))},
			[]string{"10 call main 7", "11 call f 7", "12 return f 7 late", "12 call f 7", "13 return f 7 late",
				"13 return main 7"}, "map[]"},
		{"child within calls", map[int][]byte{9: slices.Concat(word(31e8, entry, 1, 0x1200),
			word(32e8, exit, 1, 0x1200), word(33e8, exit, 0, 0x1100))},
			[]string{"31 call f 9", "32 return f 9"}, "map[]"},
		{"lost records", map[int][]byte{7: slices.Concat(word(10e8, entry, 0, 0x1100), word(0, lost, 0, 5),
			word(20e8, entry, 0, 0x1200))},
			[]string{"10 call main 7", "20 return main 7 late", "10 lost 10 7", "20 call f 7",
				"20 return f 7 late"}, "map[]"},
		{"reused number", map[int][]byte{8: slices.Concat(word(20e8, entry, 0, 0x1100), word(51e8, exit, 0, 0x1100))},
			[]string{"20 call main 8", "51 return main 8 late"}, "map[]"},
		{"event with data", map[int][]byte{7: slices.Concat(word(10e8, entry, 0, 0x1100), word(11e8, event|4, 0, 1),
			[]byte{3, 0, 1, 1, 1, 0, 0, 0}, word(12e8, exit, 0, 0x1100))},
			[]string{"10 call main 7", "12 return main 7"}, "map[]"},
		{"damage", map[int][]byte{7: slices.Concat(word(10e8, entry, 0, 0x1100), make([]byte, 16)),
			8: word(20e8, entry|4, 0, 0x1100), 9: word(40e8, entry, 0, 0x1100)[:15]},
			[]string{"10 call main 7", "10 return main 7 late"},
			"map[cut records:1 damaged records:1 records with arguments:1]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var s activitytest.Sink
			counts, err := Read(folder(tasks, addresses, names, tc.threads), &s)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range s.Events {
				f := activity.Function{}
				if e.Kind != activity.Lost {
					f = s.Functions[e.Ref-1]
				}
				name := f.Name
				if name == "" {
					name = fmt.Sprintf("%s+%#x", f.Module, f.Offset)
				}
				line := fmt.Sprint(e.At/1e8, " ", map[activity.Kind]string{activity.Call: "call " + name,
					activity.Return: "return " + name, activity.Lost: fmt.Sprint("lost ", e.Value/1e8)}[e.Kind], " ",
					s.Threads[e.Thread-1].ID)
				if e.Kind == activity.Return && e.Value == 1 {
					line += " late"
				}
				got = append(got, line)
			}
			if !slices.Equal(got, tc.want) || fmt.Sprint(counts.Skipped) != tc.skipped {
				t.Errorf("%v: events are\n%s\nwant\n%s", counts.Skipped,
					strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
			}
			for _, thread := range s.Threads {
				if thread.ProcessName != "my app" || thread.Start < 1e9 {
					t.Errorf("thread %+v", thread)
				}
			}
		})
	}
}

// TestLostAtTheEnd: no call follows the lost records of a file. Their number may be impossible.
func TestLostAtTheEnd(t *testing.T) {
	call, most := word(10e8, entry, 0, 0x1100), bytes.Repeat(word(0, lost, 0, 1<<48-1), 1<<15+1)
	for name, tc := range map[string]struct {
		records []byte
		want    int64
	}{
		"after a call": {slices.Concat(call, word(0, lost, 0, 2), word(0, lost, 0, 3)), 5},
		"alone":        {word(0, lost, 0, 7), 7},
		"too many":     {slices.Concat(call, most), maxLost},
		"within":       {slices.Concat(call, most, word(20e8, exit, 0, 0x1100), most), maxLost},
	} {
		counts, err := Read(folder(tasks, addresses, names, map[int][]byte{7: tc.records}), &activitytest.Sink{})
		if err != nil || counts.Lost != tc.want {
			t.Errorf("%s: %d records are lost, want %d; %v", name, counts.Lost, tc.want, err)
		}
	}
}

func TestEndedEarly(t *testing.T) {
	for name, dir := range map[string]fs.FS{"no files": fstest.MapFS{},
		"no tasks": folder("x", addresses, names, nil)} {
		if counts, err := Read(dir, &activitytest.Sink{}); err == nil {
			t.Errorf("%s: %+v is accepted", name, counts)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(tasks), []byte(addresses), []byte(names), slices.Concat(word(10e8, entry, 0, 0x1100),
		word(0, lost, 0, 5), word(20e8, event|4, 0, 1), []byte{3, 0, 1, 1, 1, 0, 0, 0}, word(30e8, exit, 3, 0x1200)))
	f.Add([]byte(tasks+"DLOP timestamp=1.500000000 tid=7 sid=ab base=8000 libname=\"/bin/my app\"\n"),
		[]byte(addresses), []byte(names), slices.Concat(word(20e8, entry, 1023, 0x8100), word(60e8, exit, 4, 0x8100)))
	f.Fuzz(func(t *testing.T, tasks, addresses, names, records []byte) {
		var s activitytest.Sink
		counts, err := Read(folder(string(tasks), string(addresses), string(names),
			map[int][]byte{7: records, 8: records}), &s)
		if err != nil {
			return
		}
		nested(t, &s)
		if n := int64(2 * (len(records)/16 + 1)); counts.Calls > n || int64(len(s.Events)) > 3*n {
			t.Fatalf("%d records have %+v and %d events", n, counts, len(s.Events))
		}
		for _, f := range s.Functions {
			if len(f.Name) > len(names) || bytes.Contains([]byte(f.Name), []byte("\n")) {
				t.Fatalf("function %+v", f)
			}
		}
	})
}
