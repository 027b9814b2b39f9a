package hcl_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"hatchel/adapters/all"
	. "hatchel/hcl"
)

func TestASecretThatIsNotRenewedKeepsItsLastValueWithAWarning(t *testing.T) {
	const src = "secret \"token\" { command = [\"vault\"] }\n" +
		"connection \"http\" \"shop\" {\n  base_url = \"https://shop.example\"\n  headers = { key = secret.token }\n}\n" +
		"tool \"t\" {\n  description = \"T.\"\n  http \"shop\" { get = \"/\" }\n}\n"
	run := func([]string, time.Duration) ([]byte, error) { return []byte("last-value"), errors.New("fails") }
	config, diags := Load(files("a.hcl", src), all.Set().Kinds(), Options{ReadSecretCommand: run})
	if len(diags) != 1 || diags.HasErrors() || diags[0].Summary != "Secret not renewed" ||
		diags[0].Detail != `The secret "token" is not renewed: its command vault fails. Its last value is used.` {
		t.Errorf("got %v", diags)
	}
	if !config.OldSecrets || !slices.Contains(config.Secrets, "last-value") {
		t.Errorf("old secrets: %v", config.OldSecrets)
	}
}
