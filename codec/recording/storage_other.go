//go:build !linux

package recording

import "os"

func syncData(f *os.File) error { return f.Sync() }

func setDirect(*os.File) string { return "only Linux has direct writes" }

func clearDirect(*os.File) error { return nil }

func refusesDirect(error) bool { return false }

func readAhead(*os.File, int64, int64) {}

func lockFile(string) (unlock func(), err error) { return func() {}, nil }
