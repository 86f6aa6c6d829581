package symbols_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eideticker/eideticker/analyze/activity"
	"github.com/eideticker/eideticker/analyze/activity/symbols"
)

const program = `
namespace gfx { struct Layer { __attribute__((noinline)) int paint(int n) { return n * 7 + 1; } }; }
extern "C" __attribute__((noinline)) int heavy_loop(int n) {
	volatile int sum = 0;
	for (int i = 0; i < n; i++) sum = sum + i;
	return sum;
}
int main(int argc, char**) { gfx::Layer l; return heavy_loop(argc) + l.paint(argc); }
`

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", name, err, out)
	}
}

// built compiles the program in a folder. It returns its path, its functions and its address.
func built(t *testing.T, dir string, flags ...string) (path string, functions map[string]elf.Symbol, base uint64) {
	t.Helper()
	source := filepath.Join(dir, "paint.cc")
	path = filepath.Join(dir, "prog"+strings.Join(flags, ""))
	if _, err := os.Stat(path); err != nil {
		if err := os.WriteFile(source, []byte(program), 0o600); err != nil {
			t.Fatal(err)
		}
		run(t, "g++", append(append([]string{"-g", "-O1"}, flags...), "-o", path, source)...)
	}
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	functions = map[string]elf.Symbol{}
	for _, s := range all {
		for _, name := range []string{"heavy_loop", "paint"} {
			if strings.Contains(s.Name, name) && elf.ST_TYPE(s.Info) == elf.STT_FUNC {
				functions[name] = s
			}
		}
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			return path, functions, p.Vaddr
		}
	}
	return path, functions, 0
}

const id = "0123456789abcdef0123456789abcdef01234567"

// TestNames: a stripped program's functions get names and lines from files apart.
func TestNames(t *testing.T) {
	withID, programs := "-Wl,--build-id=0x"+id, t.TempDir()
	for _, tc := range []struct {
		name, flags, file string // file of the symbols in the folder
		build             string // of the trace
		relative          bool   // offsets count from the module's begin
		doubt             string
		found             bool
	}{
		{"layout of build ids", withID, ".build-id/01/" + id[2:] + ".debug", id, false, "", true},
		{"build id of any file", withID, "sub/other", id, false, "", true},
		{"id of Firefox", withID, "sub/other", "67452301AB89EFCD0123456789ABCDEF0", false, "", true},
		{"name alone", "-Wl,--build-id=none", "prog.debug", "", false, "by the file's name alone", true},
		{"name, file without id", "-Wl,--build-id=none", "prog", id, false, "by the file's name alone", true},
		{"other build", withID, "prog", "ff" + id[2:], false, "it is not used", false},
		{"fixed address", withID + " -no-pie", "prog", id, false, "", true},
		{"fixed address, relative", withID + " -no-pie", "prog", id, true, "", true},
		{"other module", withID, "another", "", false, "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path, functions, base := built(t, programs, strings.Fields(tc.flags)...)
			dir := t.TempDir()
			file := filepath.Join(dir, tc.file)
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			run(t, "objcopy", "--only-keep-debug", path, file)
			folder, err := symbols.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for name, s := range functions {
				for _, at := range []uint64{s.Value, s.Value + s.Size - 1} {
					of := activity.Function{Module: "/opt/prog", Offset: at, BuildID: tc.build, Lang: activity.Native}
					if tc.relative {
						of.Offset -= base
					}
					got := folder.Name(of)
					if !tc.found {
						if got != of {
							t.Errorf("%+v", got)
						}
						continue
					}
					want := map[string]string{"paint": "gfx::Layer::paint", "heavy_loop": "heavy_loop"}[name]
					if got.Name != want || !strings.HasSuffix(got.File, "paint.cc") || got.Offset != 0 ||
						got.Line != map[string]int{"paint": 2, "heavy_loop": 3}[name] || got.Module != of.Module {
						t.Errorf("%#x is %+v", at, got)
					}
					n++
				}
			}
			if doubts := strings.Join(folder.Doubts, " "); !strings.Contains(doubts, tc.doubt) ||
				(doubts != "") != (tc.doubt != "") {
				t.Errorf("doubts %q", doubts)
			}
			if folder.Found != n || tc.found && n != 4 || !tc.found && folder.Missing["/opt/prog"] != 4 {
				t.Errorf("%d of %d functions are named, %v are not", folder.Found, n, folder.Missing)
			}
		})
	}
}

// TestOtherFunctions: functions with names, of no module or outside of symbols stay as they are.
func TestOtherFunctions(t *testing.T) {
	path, functions, _ := built(t, t.TempDir())
	folder, err := symbols.Open(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []activity.Function{{Name: "known", Module: path, Lang: activity.Native}, {Lang: activity.Native},
		{Module: "[kernel]", Offset: 1 << 63, Lang: activity.Kernel},
		{Module: "/x/prog", Offset: 1 << 40, Lang: activity.Native},
		{Module: "/x/prog", Offset: 1<<64 - 1, Lang: activity.Native}} {
		if got := folder.Name(f); got != f {
			t.Errorf("%+v became %+v", f, got)
		}
	}
	// Cut and changed files are doubts, or have no functions.
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "prog")
	for n := 0; n < len(whole); n += len(whole)/40 + 1 {
		for _, changed := range [][]byte{whole[:n], slices.Concat(whole[:n], whole[min(n+9, len(whole)):])} {
			if err := os.WriteFile(file, changed, 0o600); err != nil {
				t.Fatal(err)
			}
			folder, err := symbols.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range functions {
				folder.Name(activity.Function{Module: "prog", Offset: s.Value, Lang: activity.Native})
			}
		}
	}
}

func TestFolders(t *testing.T) {
	for dir, want := range map[string]string{t.TempDir(): "it has no files", "missing": "no such file"} {
		if _, err := symbols.Open(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", dir, err)
		}
	}
	dir := t.TempDir()
	if err := os.Symlink("nowhere", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "text"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if folder, err := symbols.Open(dir); err != nil || folder.Found != 0 {
		t.Error(err)
	}
}
