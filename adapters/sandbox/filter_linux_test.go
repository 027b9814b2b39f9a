//go:build linux && cgo

package sandbox

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"hatchel/internal/sampletest"
)

// seccompData is struct seccomp_data.
type seccompData struct {
	number    uint32
	arch      uint32
	arguments [6]uint64
}

// load returns the 32 bits at an offset.
func (d *seccompData) load(offset uint32) uint32 {
	b := binary.LittleEndian.AppendUint32(nil, d.number)
	b = binary.LittleEndian.AppendUint32(b, d.arch)
	b = binary.LittleEndian.AppendUint64(b, 0)
	for _, a := range d.arguments {
		b = binary.LittleEndian.AppendUint64(b, a)
	}
	return binary.LittleEndian.Uint32(b[offset:])
}

// run interprets a filter as the kernel does.
func (f filter) run(t *testing.T, d *seccompData) verdict {
	t.Helper()
	acc := uint32(0)
	for pc := 0; ; pc++ {
		if pc >= len(f) {
			t.Fatalf("the filter does not end for %+v", d)
		}
		in := f[pc]
		holds := false
		switch in.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			acc = d.load(in.K)
			continue
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			acc &= in.K
			continue
		case unix.BPF_RET | unix.BPF_K:
			return verdict(in.K)
		case unix.BPF_JMP | unix.BPF_JA:
			pc += int(in.K)
			continue
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			holds = acc == in.K
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			holds = acc >= in.K
		case unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K:
			holds = acc > in.K
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			holds = acc&in.K != 0
		default:
			t.Fatalf("instruction %+v", in)
		}
		if holds {
			pc += int(in.Jt)
		} else {
			pc += int(in.Jf)
		}
	}
}

// decide evaluates a rule without a filter.
func (r rule) decide(d *seccompData) verdict {
	for _, c := range r.clauses {
		applies := true
		for _, w := range c.when {
			value := d.load(w.offset)
			if w.mask != 0 {
				value &= w.mask
			}
			holds := value == w.value
			if w.test == unix.BPF_JSET {
				holds = value&w.value != 0
			}
			applies = applies && holds != w.not
		}
		if applies {
			return c.then
		}
	}
	return r.fallback
}

// arguments returns argument lists that satisfy and violate the conditions of a rule.
func (r rule) arguments() (lists [][6]uint64) {
	lists = append(lists, [6]uint64{}, [6]uint64{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)})
	for _, c := range r.clauses {
		for _, w := range c.when {
			index, shift := (w.offset-offsetArguments)/8, (w.offset-offsetArguments)%8*8
			for _, base := range lists[:len(lists):len(lists)] {
				for _, value := range []uint32{0, w.value, w.value &^ 1, w.value | 0x10, ^w.value} {
					changed := base
					changed[index] = changed[index]&^(0xffffffff<<shift) | uint64(value)<<shift
					lists = append(lists, changed)
				}
			}
			if len(lists) > 20000 {
				return lists
			}
		}
	}
	return lists
}

func TestFilterDecidesAsItsRules(t *testing.T) {
	for goarch, arch := range auditArch {
		for _, key := range sampletest.Of(t, 1, []filterKey{
			{}, {network: true}, {modes: true}, {memory: true}, {controlsTruncate: true}, {true, true, true, true},
		}) {
			t.Run(fmt.Sprint(goarch, key), func(t *testing.T) {
				rules := newSyscallRules(key, goarch)
				f := assembleFilter(rules, arch)
				for number := range uint32(600) {
					r, ok := rules[number]
					if !ok {
						r.fallback = allow
					}
					for _, arguments := range r.arguments() {
						d := &seccompData{number, arch, arguments}
						if got, want := f.run(t, d), r.decide(d); got != want {
							t.Fatalf("call %d with %x: %#x, want %#x", number, arguments, got, want)
						}
					}
				}
				other := &seccompData{number: unix.SYS_READ, arch: arch ^ 1}
				if got := f.run(t, other); got != deny(unix.ENOSYS) {
					t.Errorf("another architecture: %#x", got)
				}
				x32 := &seccompData{number: x32Numbers, arch: arch}
				if got := f.run(t, x32); arch == unix.AUDIT_ARCH_X86_64 && got != deny(unix.ENOSYS) {
					t.Errorf("x32: %#x", got)
				}
			})
		}
	}
}

// TestFilterIsShort guards the time that a start takes: the kernel compiles the filter of each program.
func TestFilterIsShort(t *testing.T) {
	const maxLength = 180
	f, err := newFilter(Policy{}, 7)
	if err != nil {
		t.Skip(err)
	}
	if len(f) > maxLength {
		t.Errorf("%d instructions on %s", len(f), runtime.GOARCH)
	}
	t.Logf("%d instructions", len(f))
}
