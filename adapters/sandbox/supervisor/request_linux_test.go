package supervisor

import (
	"reflect"
	"testing"
)

func TestSplitDescriptorPath(t *testing.T) {
	for path, want := range map[string]struct {
		fd   int32
		rest string
		ok   bool
	}{
		"/proc/self/fd/7":           {7, "", true},
		"/proc/self/fd/7/":          {7, ".", true},
		"/proc/self/fd/7//a/b":      {7, "a/b", true},
		"/proc/thread-self/fd/0":    {0, "", true},
		"/dev/fd/12/x":              {12, "x", true},
		"/proc/self/fd/07":          {},
		"/proc/self/fd/+7":          {},
		"/proc/self/fd/-1":          {},
		"/proc/self/fd/99999999999": {},
		"/proc/self/fd/":            {},
		"/proc/self/fd/../fd/7":     {},
		"/proc/1/fd/7":              {},
		"7":                         {},
	} {
		r := &request{path: path}
		if fd, rest, ok := r.splitDescriptorPath(); fd != want.fd || rest != want.rest || ok != want.ok {
			t.Errorf("%s: %d, %q, %v", path, fd, rest, ok)
		}
	}
	link := &request{path: "/proc/self/fd/7", noFollow: true}
	if _, _, ok := link.splitDescriptorPath(); ok {
		t.Error("the link itself was meant")
	}
}

func TestParseIdentity(t *testing.T) {
	const status = "Name:\tx\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nGroups:\t9 10 \nCapEff:\t0000000000000002\n"
	got, err := parseIdentity([]byte(status))
	want := identity{user: 4, group: 8, groups: []uint32{9, 10}, capabilities: 2}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"", "Uid:\t1\t2\t3\t4\n", "Uid:\t1\t2\t3\tx\nGid:\t5\t6\t7\t8\nGroups:\t\nCapEff:\t0\n"} {
		if id, err := parseIdentity([]byte(bad)); err == nil {
			t.Errorf("%q: %+v", bad, id)
		}
	}
}
