package auth_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"hatchel/hcl"
	"hatchel/runtime/auth"
)

const ci, boss = "the key of the pipeline", "the key of the boss"

func TestKeyIdentifiesCaller(t *testing.T) {
	c, _ := knowing(t, &hcl.Auth{Keys: []*hcl.APIKey{{Name: "boss", Digest: digest(boss), Groups: []string{"admin"}, Scopes: []string{"all"}}, {Name: "ci", Digest: digest(ci)}}})
	for _, headers := range [][]string{{"Authorization", "Bearer " + boss}, {"Authorization", "bearer " + boss}, {"X-API-Key", boss}} {
		got, refused := asked(c, request(headers...))
		if refused != "" || got.Subject != "boss" || got.Key != "boss" || fmt.Sprint(got.Groups, got.Scopes) != "[admin] [all]" {
			t.Errorf("%v: %v, %s", headers, got, refused)
		}
	}
	if got, refused := asked(c, request("X-API-Key", ci)); refused != "" || got.Subject != "ci" || len(got.Groups) > 0 {
		t.Errorf("%v, %s", got, refused)
	}
}

func TestBadKeysAreRefused(t *testing.T) {
	c, clock := knowing(t, &hcl.Auth{Keys: []*hcl.APIKey{{Name: "ci", Digest: digest(ci), Expires: time.Now().Add(time.Hour)}}})
	for _, x := range []struct {
		headers []string
		want    string
	}{
		{nil, `401 Bearer realm="hatchel"`},
		{[]string{"Authorization", "Bearer"}, "401"},
		{[]string{"Authorization", "Bearer "}, "401"},
		{[]string{"Authorization", ci}, "401"},
		{[]string{"Authorization", "Basic " + ci}, "401"},
		{[]string{"Authorization", "Bearer " + ci + " "}, "401"},
		{[]string{"Authorization", "Bearer " + ci[1:]}, "401"},
		{[]string{"Authorization", "Bearer " + fmt.Sprintf("%x", digest(ci))}, "401"},
		{[]string{"X-API-Key", ""}, "401"},
		{[]string{"X-API-Key", "Bearer " + ci}, "401"},
		{[]string{"X-API-Key", ci, "X-API-Key", ci}, "400"},
		{[]string{"X-API-Key", ci, "Authorization", "Bearer " + ci}, "400"},
		{[]string{"Authorization", "Bearer " + ci, "Authorization", "Bearer " + ci}, "400"},
	} {
		if got, refused := asked(c, request(x.headers...)); got != nil || !strings.HasPrefix(refused, x.want) {
			t.Errorf("%q: %v, %s", x.headers, got, refused)
		}
	}
	who, refused := asked(c, request("X-API-Key", ci))
	if refused != "" {
		t.Fatal(refused)
	}
	clock.advance(2 * time.Hour)
	if got, refused := asked(c, request("X-API-Key", ci)); got != nil || !strings.Contains(refused, "expired") {
		t.Errorf("%v, %s", got, refused)
	}
	later, _ := knowing(t, &hcl.Auth{Keys: []*hcl.APIKey{{Name: "ci", Digest: digest(boss)}}})
	if later.Stands(who) || later.Stands(nil) {
		t.Error("who had another key of that name stands, or nobody does")
	}
}

func TestNewWithoutCredentialsReturnsNil(t *testing.T) {
	var nobody *auth.Callers
	if c, _ := knowing(t, nil); c != nil || !nobody.Stands(nil) {
		t.Errorf("%v", c)
	}
	c, _ := knowing(t, &hcl.Auth{Keys: []*hcl.APIKey{{Name: "ci", Digest: digest(ci)}}})
	if who, _ := asked(c, request("X-API-Key", ci)); nobody.Stands(who) {
		t.Error("who was somebody is nobody now")
	}
}
