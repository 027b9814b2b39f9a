//go:build linux && cgo

package sandbox

import (
	"path/filepath"
	"sync"
)

// systemDirCandidates hold what programs of the system consist of and read when they start. Of /etc only parts are
// readable, see systemFiles.
var systemDirCandidates = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store", "/snap",
	"/etc/alternatives", "/etc/ld.so.conf.d", "/etc/ssl/certs", "/etc/pki/tls/certs", "/etc/pki/ca-trust",
	"/etc/ca-certificates", "/etc/terminfo", "/etc/fonts",
	"/var/lib/ca-certificates", "/run/systemd/resolve",
	"/proc", "/sys/devices/system", "/sys/fs/cgroup",
}

// systemFiles are read by the C library and by most programs. They hold nothing that other users of the machine may
// not know.
var systemFiles = []string{
	"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.preload", "/etc/localtime", "/etc/timezone", "/etc/locale.conf",
	"/etc/locale.alias", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/resolv.conf", "/etc/hosts",
	"/etc/host.conf", "/etc/hostname", "/etc/gai.conf", "/etc/services", "/etc/protocols", "/etc/ssl/openssl.cnf",
	"/etc/ssl/cert.pem", "/etc/os-release", "/etc/mime.types", "/etc/magic", "/etc/inputrc", "/etc/gitconfig",
	"/etc/machine-id", "/etc/mtab",
}

// devices may be read and written.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// systemDirs are the candidates that exist. Links to others of them, such as /bin to /usr/bin, are left out.
var systemDirs = sync.OnceValue(func() (dirs []string) {
	for _, dir := range systemDirCandidates {
		real, err := filepath.EvalSymlinks(dir)
		if err == nil && !isWithin(real, dirs) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
})
