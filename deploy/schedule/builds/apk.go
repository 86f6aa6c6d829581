package builds

import (
	"archive/zip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
)

const apkEnding = ".apk"

// findAPK returns the only APK at the top of a tree; "": none or several.
func findAPK(dir string) string {
	all, err := filepath.Glob(filepath.Join(dir, "*"+apkEnding))
	if err != nil || len(all) != 1 {
		return ""
	}
	if st, err := os.Lstat(all[0]); err != nil || !st.Mode().IsRegular() {
		return ""
	}
	return all[0]
}

// takeAPK copies an archive into a tree if it is an APK itself: a zip file with a manifest of
// Android at its top. It reports if it is one.
func takeAPK(ctx context.Context, archive, tree string) (is bool, err error) {
	from, err := os.Open(archive)
	if err != nil {
		return false, err
	}
	defer from.Close() // only read
	st, err := from.Stat()
	if err != nil {
		return false, err
	}
	table := &bounded{from: from} // package zip takes memory for each entry
	table.left.Store(usual.table)
	z, err := zip.NewReader(table, st.Size())
	if err != nil || !slices.ContainsFunc(z.File, func(f *zip.File) bool { return f.Name == "AndroidManifest.xml" }) {
		return false, nil
	}
	to, err := os.Create(filepath.Join(tree, "build"+apkEnding))
	if err != nil {
		return true, err
	}
	_, err = io.Copy(to, &counted{ctx, from, usual.bytes})
	return true, errors.Join(err, to.Close())
}
