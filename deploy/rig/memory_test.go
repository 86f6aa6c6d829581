package rig

import (
	"math"
	"runtime/debug"
	"testing"
	"testing/fstest"
)

// Bug: nothing bounds the memory of the service, so it takes the whole box with it.
func TestGoMemory(t *testing.T) {
	const group = "sys/fs/cgroup/system.slice/eideticker.service/"
	for name, tc := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"a limit": {map[string]string{"proc/self/cgroup": "0::/system.slice/eideticker.service\n",
			group + "memory.max": "4000000000\n"}, 2e9},
		"one above": {map[string]string{"proc/self/cgroup": "0::/system.slice/eideticker.service\n",
			group + "memory.max": "max\n", "sys/fs/cgroup/system.slice/memory.max": "2000000000\n"}, 1e9},
		"the least of two": {map[string]string{"proc/self/cgroup": "0::/system.slice/eideticker.service\n",
			group + "memory.max": "4000000000\n", "sys/fs/cgroup/system.slice/memory.max": "9000000000\n"}, 2e9},
		"none": {map[string]string{"proc/self/cgroup": "0::/system.slice/eideticker.service\n",
			group + "memory.max": "max\n"}, math.MaxInt64},
		"the root": {map[string]string{"proc/self/cgroup": "0::/\n"}, math.MaxInt64},
		"outside of the space": {map[string]string{"proc/self/cgroup": "0::/../../x\n", "sys/x/memory.max": "5\n"},
			math.MaxInt64},
		"version 1": {map[string]string{"proc/self/cgroup": "4:memory:/a\n",
			"sys/fs/cgroup/a/memory.max": "5\n"}, math.MaxInt64},
		"no Linux": {nil, math.MaxInt64},
	} {
		t.Run(name, func(t *testing.T) {
			root := fstest.MapFS{}
			for path, text := range tc.files {
				root[path] = &fstest.MapFile{Data: []byte(text)}
			}
			if got := goMemory(root); got != tc.want {
				t.Errorf("%d bytes, want %d", got, tc.want)
			}
		})
	}
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	root := fstest.MapFS{"proc/self/cgroup": {Data: []byte("0::/a\n")},
		"sys/fs/cgroup/a/memory.max": {Data: []byte("8000000000\n")}}
	for variable, want := range map[string]int64{"": 4e9, "6GiB": before} {
		debug.SetMemoryLimit(before)
		BoundMemory(root, variable)
		if got := debug.SetMemoryLimit(-1); got != want {
			t.Errorf("with GOMEMLIMIT=%q the limit is %d, want %d", variable, got, want)
		}
	}
}
