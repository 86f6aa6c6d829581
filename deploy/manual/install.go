package manual

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"

	"github.com/alecthomas/kong"
)

// Install writes the scripts of all shells and the manual pages below a folder of shared data. It
// returns the number of files.
func Install(dir string, root *kong.Node, p Program) (int, error) {
	files := map[string]string{
		"bash-completion/completions/eideticker":    Completion("bash", root),
		"zsh/vendor-completions/_eideticker":        Completion("zsh", root),
		"fish/vendor_completions.d/eideticker.fish": Completion("fish", root),
	}
	for name, page := range allPages(root, p) {
		files["man/man1/"+name+".1.gz"] = zipped(page)
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			return 0, err
		}
	}
	return len(files), nil
}

// zipped compresses a page as gzip -9n does.
func zipped(text string) string {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level exists
	_, _ = io.WriteString(z, text)                        // to memory
	_ = z.Close()
	return b.String()
}
