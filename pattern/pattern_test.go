package pattern

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestExpressionsCompile compiles each expression that the module's code passes to New. A malformed
// one would panic at its first use only.
func TestExpressionsCompile(t *testing.T) {
	calls := regexp.MustCompile("pattern\\.New\\(\\s*(`[^`]*`|\"(?:[^\"\\\\]|\\\\.)*\")?")
	n := 0
	err := filepath.WalkDir("..", func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (e.Name() == "node_modules" || e.Name() == "out"):
			return filepath.SkipDir
		case e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasPrefix(path, "../pattern/"):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range calls.FindAllSubmatch(text, -1) {
			expr, bad := strconv.Unquote(string(m[1]))
			if bad != nil {
				t.Errorf("%s: %s: an expression must be a literal, so that this test can compile it", path, m[0])
			} else if _, bad := regexp.Compile(expr); bad != nil {
				t.Errorf("%s: %v", path, bad)
			}
			n++
		}
		return err
	})
	if err != nil || n < 50 {
		t.Errorf("%d expressions, %v", n, err)
	}
}
