package built

import (
	"os"
	"syscall"
	"testing"
)

// Executable writes a program that a test starts at once. No other process starts meanwhile. It
// would have a copy of the open file until its exec. A file that is open for writing does not start
// ("text file busy").
func Executable(t testing.TB, path, content string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
}
