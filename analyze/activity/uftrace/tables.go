package uftrace

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/analyze/activity"
)

// task is a thread with its begin.
type task struct{ activity.Thread }

// session is a program in a process from a time on.
type session struct {
	at      int64
	program string
	modules []*module         // by address
	known   map[uint64]uint32 // functions by address
}

// module is a file in a session's memory.
type module struct {
	begin, end  uint64
	path, build string
	symbols     []symbol
}

type symbol struct {
	addr uint64
	name string // empty: the end of a section
}

// tables have the contents of task.txt, maps and symbols.
type tables struct {
	tasks    map[int32][]task    // by thread number, in the order of time
	sessions map[int32][]session // by process, likewise
	parents  map[int32]int32     // of processes
	symbols  map[string][]symbol // by module
}

const (
	maxFile    = 256 << 20 // bytes of a file with text
	maxSymbols = 8 << 20
	maxLines   = 1 << 20 // of task.txt and of a map
)

// load reads the tables. Damaged lines are skipped.
func (t *tables) load(dir fs.FS, skip func(string)) error {
	t.tasks, t.sessions, t.parents = map[int32][]task{}, map[int32][]session{}, map[int32]int32{}
	t.symbols = map[string][]symbol{}
	total := 0
	names, err := fs.Glob(dir, "*.sym")
	if err != nil {
		return err
	}
	for _, name := range names {
		file, all := "", []symbol(nil)
		err := lines(dir, name, func(line string) {
			if p, ok := strings.CutPrefix(line, "# path name: "); ok {
				file = p
			} else if s, ok := parseSymbol(line); ok && total < maxSymbols {
				all = append(all, s)
				total++
			} else if line[0] != '#' {
				skip("symbols")
			}
		})
		if err != nil {
			return err
		}
		slices.SortStableFunc(all, func(a, b symbol) int { return cmp.Compare(a.addr, b.addr) })
		t.symbols[file] = all
	}
	count := 0
	err = lines(dir, "task.txt", func(line string) {
		if count++; count > maxLines || !t.task(dir, line, skip) {
			skip("tasks")
		}
	})
	if err == nil && len(t.tasks) == 0 {
		err = errors.New("task.txt has no tasks; was uftrace ended early?")
	}
	return err
}

// lines calls a function for each line of a file that is not empty.
func lines(dir fs.FS, name string, each func(string)) error {
	f, err := dir.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || st.Size() > maxFile {
		return cmp.Or(err, fmt.Errorf("%s has more than %d bytes", name, maxFile))
	}
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		if in.Text() != "" {
			each(in.Text())
		}
	}
	return in.Err()
}

// parseSymbol parses "ADDRESS TYPE NAME". A name that begins with __ and ends a section has type ?.
func parseSymbol(line string) (symbol, bool) {
	word, rest, _ := strings.Cut(line, " ")
	kind, name, ok := strings.Cut(rest, " ")
	addr, err := strconv.ParseUint(word, 16, 64)
	if !ok || err != nil || len(kind) != 1 {
		return symbol{}, false
	}
	if kind == "?" {
		name = ""
	}
	return symbol{addr, name}, true
}

// task reads a line of task.txt: a word and fields NAME=VALUE.
func (t *tables) task(dir fs.FS, line string, skip func(string)) bool {
	kind, rest, _ := strings.Cut(line, " ")
	fields := map[string]string{}
	rest, quoted, _ := strings.Cut(rest, "=\"") // the last field may contain blanks
	for word := range strings.FieldsSeq(rest) {
		name, value, _ := strings.Cut(word, "=")
		fields[name] = value
	}
	at, ok := seconds(fields["timestamp"])
	if !ok {
		return false
	}
	id := func(name string) int32 {
		n, err := strconv.ParseInt(fields[name], 10, 32)
		if err != nil || n <= 0 {
			ok = false
		}
		return int32(n)
	}
	switch kind {
	case "SESS":
		pid := id("pid")
		sid := fields["sid"]
		if !ok || sid == "" || strings.Trim(sid, "0123456789abcdef") != "" {
			return false
		}
		s := session{at: at, program: strings.TrimSuffix(quoted, `"`), known: map[uint64]uint32{}}
		if err := s.load(dir, "sid-"+sid+".map", t.symbols); err != nil {
			skip("maps")
		}
		t.sessions[pid] = append(t.sessions[pid], s)
	case "TASK", "FORK":
		pid := id("pid")
		tid := pid
		if kind == "TASK" {
			tid = id("tid")
		} else if ppid := id("ppid"); ok {
			t.parents[pid] = ppid
		}
		if ok {
			one := task{activity.Thread{Process: pid, ID: tid, Start: at}}
			of, _ := t.session(pid, at)
			one.ProcessName = path.Base(of.program)
			if pid == tid {
				one.Name = one.ProcessName
			}
			t.tasks[tid] = append(t.tasks[tid], one)
		}
	case "DLOP":
		tid, base := id("tid"), fields["base"]
		addr, err := strconv.ParseUint(base, 16, 64)
		path := strings.TrimSuffix(quoted, `"`)
		if !ok || err != nil {
			return false
		}
		pid := tid
		if all := t.tasks[tid]; len(all) > 0 {
			pid = all[len(all)-1].Process
		}
		s, _ := t.session(pid, at)
		symbols := t.symbols[path]
		if len(symbols) > 0 && s.known != nil {
			s.modules = append(s.modules, &module{begin: addr, end: addr + symbols[len(symbols)-1].addr + 1, path: path,
				symbols: symbols})
			slices.SortStableFunc(s.modules, func(a, b *module) int { return cmp.Compare(a.begin, b.begin) })
		}
	default:
		return false
	}
	return ok
}

// seconds parses seconds with nine decimals.
func seconds(text string) (int64, bool) {
	whole, part, ok := strings.Cut(text, ".")
	s, err := strconv.ParseUint(whole, 10, 29)
	ns, err2 := strconv.ParseUint(part, 10, 32)
	return int64(s)*1e9 + int64(ns), ok && err == nil && err2 == nil && len(part) == 9
}

// load reads the modules of a session. Parts of one module are one.
func (s *session) load(dir fs.FS, name string, symbols map[string][]symbol) error {
	return lines(dir, name, func(line string) {
		fields := strings.Fields(line)
		if len(fields) < 6 || len(s.modules) >= 1<<16 {
			return
		}
		from, to, _ := strings.Cut(fields[0], "-")
		begin, err := strconv.ParseUint(from, 16, 64)
		end, err2 := strconv.ParseUint(to, 16, 64)
		if err != nil || err2 != nil || end <= begin {
			return
		}
		rest := line
		for range 5 {
			_, rest, _ = strings.Cut(strings.TrimLeft(rest, " "), " ")
		}
		path, build, _ := strings.Cut(strings.TrimSpace(rest), " build-id:")
		if n := len(s.modules); n > 0 && s.modules[n-1].path == path {
			s.modules[n-1].end = end
			return
		}
		s.modules = append(s.modules, &module{begin: begin, end: end, path: path, build: build, symbols: symbols[path]})
	})
}

// session returns that of a process at a time, and the time until which it is that one. A child has
// that of its parent until exec.
func (t *tables) session(pid int32, at int64) (of *session, until int64) {
	until = math.MaxInt64
	for range 64 {
		all := t.sessions[pid]
		i := sort.Search(len(all), func(i int) bool { return all[i].at > at })
		if i < len(all) {
			until = min(until, all[i].at)
		}
		if i > 0 {
			return &all[i-1], until
		}
		parent, ok := t.parents[pid]
		if !ok {
			if len(all) > 0 {
				return &all[0], until
			}
			break
		}
		pid = parent
	}
	return &session{}, until
}

// function returns the number of the function at an address.
func (s *session) function(to activity.Sink, addr uint64) uint32 {
	if f, ok := s.known[addr]; ok {
		return f
	}
	one := activity.Function{Offset: addr, Lang: activity.Native}
	for _, m := range s.modules {
		if addr < m.begin || addr >= m.end {
			continue
		}
		one = activity.Function{Module: m.path, BuildID: m.build, Offset: addr - m.begin, Lang: activity.Native}
		if i := sort.Search(len(m.symbols), func(i int) bool { return m.symbols[i].addr > one.Offset }); i > 0 {
			if one.Name = m.symbols[i-1].name; one.Name != "" {
				one.Offset = 0
			}
		}
		break
	}
	f := to.Function(one)
	if s.known != nil {
		s.known[addr] = f
	}
	return f
}
