package perfscript

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/pattern"
)

// header is the begin of a record's line.
type header struct {
	comm     []byte
	pid, tid int32 // pid 0: unknown
	cpu      int   // -1: unknown
	at       int64
	rest     []byte
}

// parseHeader parses "COMM PID/TID [CPU] TIME: REST". PID/ and [CPU] may be missing.
func parseHeader(line []byte) (h header, ok bool) {
	h.cpu = -1
	before := [2][2]int{} // the last two words
	for i := 0; i < len(line); {
		if line[i] == ' ' {
			i++
			continue
		}
		end := len(line)
		if n := bytes.IndexByte(line[i:], ' '); n >= 0 {
			end = i + n
		}
		if at, isTime := parseTime(line[i:end]); isTime {
			h.at = at
			id := before[1]
			if cpu, isCPU := parseCPU(line[id[0]:id[1]]); isCPU {
				h.cpu, id = cpu, before[0]
			}
			var isID bool
			if h.pid, h.tid, isID = parseIDs(line[id[0]:id[1]]); isID && id[0] > 0 {
				h.comm, h.rest = bytes.TrimSpace(line[:id[0]]), bytes.TrimLeft(line[end:], " ")
				return h, true
			}
			h.cpu = -1
		}
		before[0], before[1] = before[1], [2]int{i, end}
		i = end
	}
	return h, false
}

// parseTime parses seconds with six to nine decimals and a colon.
func parseTime(word []byte) (at int64, ok bool) {
	point := bytes.IndexByte(word, '.')
	if decimals := len(word) - point - 2; point < 1 || point > 10 || decimals < 6 || decimals > 9 ||
		word[len(word)-1] != ':' {
		return 0, false
	}
	for i, c := range word[:len(word)-1] {
		if i == point {
			continue
		}
		if c < '0' || c > '9' {
			return 0, false
		}
		at = at*10 + int64(c-'0') // at most 19 digits, which may exceed the range
		if at < 0 {
			return math.MaxInt64, true
		}
	}
	for n := len(word) - point - 2; n < 9; n++ {
		at *= 10
	}
	return at, true
}

func parseCPU(word []byte) (int, bool) {
	if len(word) < 3 || word[0] != '[' || word[len(word)-1] != ']' {
		return -1, false
	}
	cpu, err := strconv.ParseUint(string(word[1:len(word)-1]), 10, 16)
	return int(cpu), err == nil && cpu < maxCPU
}

func parseIDs(word []byte) (pid, tid int32, ok bool) {
	before, after, both := strings.Cut(string(word), "/")
	if !both {
		before, after = "0", before
	}
	p, err := strconv.ParseInt(before, 10, 32)
	if err != nil {
		return 0, 0, false
	}
	t, err := strconv.ParseInt(after, 10, 32)
	return int32(p), int32(t), err == nil
}

// splitEvent splits "PERIOD EVENT: TEXT". PERIOD may be missing.
func splitEvent(rest []byte) (period int64, name, text []byte) {
	word, after, _ := bytes.Cut(rest, []byte(" "))
	if n, err := strconv.ParseInt(string(word), 10, 64); err == nil && n >= 0 {
		period = n
		word, after, _ = bytes.Cut(bytes.TrimLeft(after, " "), []byte(" "))
	}
	name, ok := bytes.CutSuffix(word, []byte(":"))
	if !ok {
		return 0, nil, nil
	}
	return period, name, bytes.TrimSpace(after)
}

// number returns the number after a key in a text; -1: there is none.
func number(text, key string) int64 {
	i := strings.LastIndex(text, key)
	if i < 0 {
		return -1
	}
	digits := text[i+len(key):]
	if end := strings.IndexFunc(digits, func(c rune) bool { return c < '0' || c > '9' }); end >= 0 {
		digits = digits[:end]
	}
	n, err := strconv.ParseInt(digits, 10, 31)
	if err != nil {
		return -1
	}
	return n
}

// side reads a record about processes, threads or losses.
func (r *reader) side(h header, text string) error {
	kind := text[:len(text)-len(strings.TrimLeft(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_2"))]
	text = text[len(kind):]
	switch kind {
	case "SWITCH", "SWITCH_CPU_WIDE":
		t := r.find(h)
		switch {
		case t == nil:
		case strings.HasPrefix(text, " IN"):
			return r.in(t, h.at)
		case t.on != activity.OffCPU:
			t.on = activity.OffCPU
			reason := activity.Waits
			if strings.Contains(text, "preempt") {
				reason = activity.Preempted
			}
			return r.emit(t, activity.Out, h.at, 0, reason)
		}
	case "FORK":
		var pid, tid, ppid, ptid int32
		if _, err := fmt.Sscanf(text, "(%d:%d):(%d:%d)", &pid, &tid, &ppid, &ptid); err != nil || pid <= 0 || tid <= 0 {
			r.skip("forks")
			return nil
		}
		if pid != ppid && r.some() && len(r.kept) < 1<<20 {
			_, named := r.o.Names[pid]
			r.kept[pid] = pid == r.o.Root || r.o.Named && named || r.kept[ppid]
		}
		if !r.some() || r.kept[pid] {
			r.add(pid, tid, h.at, string(h.comm))
		}
	case "EXIT":
		var pid, tid int32
		if _, err := fmt.Sscanf(text, "(%d:%d)", &pid, &tid); err != nil {
			r.skip("exits")
		} else if t := r.threads[tid]; t != nil && t.Process == pid {
			delete(r.threads, tid)
			return r.emit(t, activity.Out, h.at, 0, activity.Ended)
		}
	case "COMM":
		// The line's own name is the new one.
		r.find(h)
	case "LOST", "LOST_SAMPLES":
		n := max(number(text, " lost "), 0)
		r.counts.Lost += n
		if begin, ok := r.last[h.cpu]; ok && kind == "LOST" && begin < h.at {
			return r.to.Event(activity.Event{At: begin, Kind: activity.Lost, Ref: uint32(n), Value: h.at - begin})
		}
	}
	return nil
}

// frame reads "ADDRESS NAME+OFFSET (MODULE)", one function of a stack.
func (r *reader) frame(line []byte) {
	if r.now.kind == 0 {
		return
	}
	if len(r.now.stack) == activity.MaxDepth {
		r.skip("functions beyond the depth")
		return
	}
	if f, ok := r.lines[string(line)]; ok {
		r.now.stack = append(r.now.stack, f)
		return
	}
	word, rest, _ := bytes.Cut(line, []byte(" "))
	address, err := strconv.ParseUint(string(word), 16, 64)
	if err != nil {
		r.skip("functions")
		return
	}
	name, module := splitFrame(string(rest))
	kernel := address >= 1<<63
	if kernel && module == "" {
		module = "[kernel]"
	}
	offset := uint64(0)
	if name == "" && strings.HasPrefix(module, "/") && !kernel {
		offset = address
	}
	build := ""
	if r.o.Place != nil && module != "" && !kernel {
		begin := uint64(0)
		begin, build = r.o.Place(module, address)
		if name == "" {
			offset = begin
		}
	}
	f := r.function(name, module, offset, func() activity.Function {
		return place(name, module, offset, build, kernel)
	})
	remember(r.lines, line, f)
	r.now.stack = append(r.now.stack, f)
}

// function returns the number of a function, which make makes at its first use.
func (r *reader) function(name, module string, offset uint64, make func() activity.Function) uint32 {
	r.key = append(append(append(append(r.key[:0], name...), 0), module...), 0)
	r.key = strconv.AppendUint(r.key, offset, 16)
	if n, ok := r.functions[string(r.key)]; ok {
		return n
	}
	n := r.to.Function(make())
	remember(r.functions, r.key, n)
	return n
}

// remember keeps a function's number in a cache of limited size.
func remember(cache map[string]uint32, key []byte, n uint32) {
	if len(cache) == maxCache {
		clear(cache)
	}
	if len(key) <= maxKey {
		cache[string(key)] = n
	}
}

// version is that of a library's symbol, such as @GLIBC_2.34, which no reader misses.
var version = pattern.New(`^@@?[A-Z][A-Za-z]*_[0-9.]+$`)

// splitFrame splits "NAME+OFFSET (MODULE)". Unknown parts are empty.
func splitFrame(text string) (name, module string) {
	text = strings.TrimSpace(text)
	deleted := strings.HasSuffix(text, " (deleted))")
	text = strings.TrimSuffix(text, " (deleted))")
	if deleted {
		text += ")"
	}
	if i := strings.LastIndex(text, " ("); strings.HasSuffix(text, ")") && i >= 0 {
		text, module = text[:i], text[i+2:len(text)-1]
	} else if strings.HasPrefix(text, "(") && strings.HasSuffix(text, ")") {
		text, module = "", text[1:len(text)-1]
	}
	if i := strings.LastIndex(text, "+0x"); i >= 0 && strings.Trim(text[i+3:], "0123456789abcdef") == "" {
		text = text[:i]
	}
	if i := strings.IndexByte(text, '@'); i > 0 && version.MatchString(text[i:]) {
		text = text[:i]
	}
	if text == "[unknown]" {
		text = ""
	}
	if module == "[unknown]" || module == "inlined" {
		module = ""
	}
	return text, module
}

// place describes a function.
func place(name, module string, offset uint64, build string, kernel bool) activity.Function {
	f := activity.Function{Name: name, Module: module, Offset: offset, BuildID: build, Lang: activity.Native}
	switch {
	case kernel:
		f.Lang = activity.Kernel
	case name == "" && module == "":
		f.Lang = activity.Unknown
	case strings.HasPrefix(module, "/tmp/perf-") && strings.HasSuffix(module, ".map"):
		f.Module = "[jit]"
		if name, index, ok := wasm(f.Name); ok {
			f.Name, f.Module, f.Offset, f.Lang = name, "WebAssembly", index, activity.Script
		} else {
			script(&f)
		}
	}
	return f
}

// wasm returns the name and the index of a WebAssembly function: "JS:NAME-INDEX-COMPILER".
// Functions without a name have one with their index. Code of both compilers is one function.
func wasm(text string) (name string, index uint64, ok bool) {
	text, ok = strings.CutSuffix(strings.TrimPrefix(text, "JS:"), "-turbofan")
	if !ok {
		text, ok = strings.CutSuffix(text, "-liftoff")
	}
	i := strings.LastIndexByte(text, '-')
	if !ok || i <= 0 {
		return "", 0, false
	}
	index, err := strconv.ParseUint(text[i+1:], 10, 31)
	return text[:i], index, err == nil
}

// script completes a function that V8 compiled: "JS:^NAME URL:LINE:COLUMN". The sign before the
// name states the compiler. An apostrophe after it stands for code of one function context.
func script(f *activity.Function) {
	kind, text, ok := strings.Cut(f.Name, ":")
	switch {
	case !ok:
		return
	case kind == "RegExp":
		f.Lang = activity.Script
		return
	case kind != "JS" && kind != "LazyCompile" && kind != "Function" && kind != "Script" && kind != "Eval":
		return
	}
	f.Lang, f.Module = activity.Script, ""
	const signs = "*^~+?"
	if len(text) > 1 && text[0] == 'o' && strings.IndexByte(signs, text[1]) >= 0 { // entered within a loop
		text = text[1:]
	}
	if text != "" && strings.IndexByte(signs, text[0]) >= 0 {
		text = strings.TrimPrefix(text[1:], "'")
	}
	name, file := text, ""
	for i := range len(text) {
		if after := text[i+1:]; text[i] == ' ' && (strings.HasPrefix(after, "/") || scheme(after)) {
			name, file = text[:i], after
			break
		}
	}
	if i := strings.LastIndexByte(name, ' '); file == "" && i >= 0 && strings.Contains(name[i:], ":") {
		name, file = name[:i], name[i+1:]
	}
	if f.Name = strings.TrimSpace(name); f.Name == "" {
		f.Name = "(anonymous)"
	}
	if i := strings.LastIndexByte(file, ':'); i >= 0 {
		if n, err := strconv.ParseUint(file[i+1:], 10, 31); err == nil {
			f.Offset = n
		}
		file = file[:i]
	}
	f.File = file
	if i := strings.LastIndexByte(file, ':'); i >= 0 {
		if n, err := strconv.ParseUint(file[i+1:], 10, 31); err == nil {
			f.File, f.Line = file[:i], int(n)
		}
	}
}

// scheme reports whether a text begins with a scheme, such as https://.
func scheme(text string) bool {
	name, after, ok := strings.Cut(text, ":")
	return ok && name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz-") == "" &&
		(strings.HasPrefix(after, "//") || name == "node" || name == "blob")
}
