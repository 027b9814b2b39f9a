package main

import (
	"strings"
	"testing"

	"hatchel/runtime/stage/approval"
)

// TestACallerOfTheCommandLineOwnsWhatItsSubjectAndClaimsHave matters for two clients that start servers with one state
// store: what was done for one tenant must not be the answer for another.
func TestACallerOfTheCommandLineOwnsWhatItsSubjectAndClaimsHave(t *testing.T) {
	callers := []callerFlags{
		{Subject: "ann"},
		{Subject: "bob"},
		{Claims: []string{"tenant=acme"}},
		{Claims: []string{"tenant=globex"}},
		{Claims: []string{"tenant=1"}},
		{Claims: []string{`tenant="1"`}},
		{Claims: []string{"tenant=acme\nann"}},
		{Subject: "ann", Claims: []string{"tenant=acme"}},
		{Subject: "ann", Claims: []string{"tenant=acme", "plan=paid"}},
	}
	owners := map[string]callerFlags{}
	for _, c := range callers {
		i, err := c.Identity()
		if err != nil {
			t.Fatal(err)
		}
		if other, taken := owners[i.Owner()]; taken {
			t.Errorf("%v and %v are one owner", c, other)
		}
		owners[i.Owner()] = c
		if strings.Contains(i.Key, "\n") || !strings.HasPrefix(i.Key, "os:") {
			t.Errorf("%v has the key %q", c, i.Key)
		}
	}
	ordered, _ := (&callerFlags{Claims: []string{"a=1", "b=2"}}).Identity()
	reversed, _ := (&callerFlags{Claims: []string{"b=2", "a=1"}}).Identity()
	if !ordered.SameOwner(reversed) {
		t.Error("the order of the flags decides who owns what")
	}
	if i, err := new(callerFlags).Identity(); i != nil || err != nil {
		t.Errorf("without flags the caller is %v, %v", i, err)
	}
}

func TestAnApproverReadsWhoHasDescribedTheCaller(t *testing.T) {
	for want, w := range map[string]approval.Requester{
		`ann, as os:eve {"tenant":"acme"} says`: {Subject: "ann", Key: `os:eve {"tenant":"acme"}`},
		"unknown, as os:eve says":               {Key: "os:eve"},
		"ann, authenticated by https://id":      {Subject: "ann", Key: "https://id"},
		"ann":                                   {Subject: "ann", Key: "ann"},
	} {
		if got := requesterDetails(&w); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
