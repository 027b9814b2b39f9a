//go:build cgo

package sqlitefile

import "syscall"

func modified(info *syscall.Stat_t) int64 { return info.Mtim.Nano() }
