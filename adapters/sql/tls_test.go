package sql

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"hatchel/adapters/adaptertest"
	"hatchel/runtime/edge/auth/issuertest"
)

// secure returns the address of a server at a host with options in place of its own, and the certificate of the
// authority of its certificate, which is for localhost. It skips the test if there is none.
func (s server) secure(t *testing.T, user *url.Userinfo, host, options string) (address, authority string) {
	t.Helper()
	authority = os.Getenv("HATCHEL_TEST_AUTHORITY")
	if authority == "" {
		t.Skip("HATCHEL_TEST_AUTHORITY is not set")
	}
	u := &url.URL{Scheme: s.kind, User: user, RawQuery: options}
	if s.kind == "mysql" {
		config, err := parseMySQLURL(s.url)
		if err != nil {
			t.Fatal(err)
		}
		if user == nil {
			u.User = url.UserPassword(config.User, config.Passwd)
		}
		u.Host, u.Path = config.Addr, "/"
	} else {
		plain, err := url.Parse(s.url)
		if err != nil {
			t.Fatal(err)
		}
		if user == nil {
			u.User = plain.User
		}
		u.Host, u.Path = plain.Host, plain.Path
	}
	u.Host = strings.Replace(u.Host, "127.0.0.1", host, 1)
	return u.String(), authority
}

// The url says what is verified, and ca_file who is trusted. A certificate for another host is refused, unless the url
// leaves the name out.
func TestTheCertificateOfAServerIsVerified(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		byName, byChain, none := "sslmode=verify-full", "sslmode=verify-ca", "sslmode=require"
		if s.kind == "mysql" {
			byName, byChain, none = "tls=true", "tls=verify-ca", "tls=skip-verify"
		}
		dir := t.TempDir()
		issuertest.NewAuthority(t, "other").WriteOwn(dir, "other.pem")
		for name, c := range map[string]struct {
			host, options string
			own, accepted bool
		}{
			"its name":                          {"localhost", byName, true, true},
			"another name":                      {"127.0.0.1", byName, true, false},
			"another name, and only the chain":  {"127.0.0.1", byChain, true, true},
			"another authority":                 {"localhost", byName, false, false},
			"another authority, only the chain": {"localhost", byChain, false, false},
		} {
			t.Run(name, func(t *testing.T) {
				address, authority := s.secure(t, nil, c.host, c.options)
				if !c.own {
					authority = filepath.Join(dir, "other.pem")
				}
				b := adaptertest.Bind(t, server{kind: s.kind, url: address}.
					sourceWith(`ca_file = "`+authority+`"`, "", `query = "SELECT 1 AS a"`))
				if c.accepted {
					wantEqual(t, mustCall(t, b, `{}`), oneRow(`{"a":1}`))
				} else if got := mustFail(t, b, `{}`); !strings.Contains(got, string(wrongTLS)) {
					t.Error(got)
				}
			})
		}
		t.Run("nothing", func(t *testing.T) {
			address, authority := s.secure(t, nil, "localhost", none)
			got := adaptertest.MustReject(t, server{kind: s.kind, url: address}.
				sourceWith(`ca_file = "`+authority+`"`, "", `query = "SELECT 1 AS a"`))
			if !strings.Contains(got, byName) {
				t.Error(got)
			}
		})
	})
}

// The notation of the driver has the same options.
func TestTheNotationOfTheDriverVerifiesCertificates(t *testing.T) {
	s := connect(t, "mysql")
	_, authority := s.secure(t, nil, "localhost", "")
	for options, host := range map[string]string{"tls=true": "localhost", "timeout=5s&tls=verify-ca": "127.0.0.1"} {
		dsn := strings.Replace(s.url, "127.0.0.1", host, 1) + "?" + options
		b := adaptertest.Bind(t, server{kind: "mysql", url: dsn}.
			sourceWith(`ca_file = "`+authority+`"`, "", `query = "SELECT 1 AS a"`))
		wantEqual(t, mustCall(t, b, `{}`), oneRow(`{"a":1}`))
	}
}

// An option is one in the options of a url, and the last of two.
func TestOnlyTheOptionsSayWhatIsVerified(t *testing.T) {
	for address, want := range map[string]verification{
		"mysql://app@h/x?tls=verify-ca":                          chainVerified,
		"mysql://app@h/x?tls=verify%2Dca&timeout=3s":             chainVerified,
		"mysql://app@h/x?tls=verify-ca&tls=false":                unverified,
		"mysql://app@h/x?tls=verify-ca&tls=skip-verify":          unverified,
		"mysql://app@h/x?tls=skip-verify&tls=verify-ca":          chainVerified,
		"mysql://app@h/x?tls=verify-ca&tls=true":                 nameVerified,
		"app:a?tls=verify-ca&b@tcp(h:3306)/x":                    unverified,
		"app:a?tls=verify-ca&b@tcp(h:3306)/x?tls=true":           nameVerified,
		"mysql://app:a%3Ftls=verify-ca&b@h/x":                    unverified,
		"mysql://app@h/x?tls=true&connectionAttributes=tls:none": nameVerified,
	} {
		config, err := parseMySQLURL(address)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		if got := leastVerification(mysqlTLS(config)); got != want {
			t.Errorf("%s verifies %d, want %d", address, got, want)
		}
		if strings.Contains(address, ":a?") && config.Passwd != "a?tls=verify-ca&b" {
			t.Errorf("%s has the password %s", address, config.Passwd)
		}
	}
}

// The check of an address finds no more verification than the parser that connects. A text that looks like an option
// is none.
func TestTheCheckOfAnAddressTrustsNoMoreThanTheParser(t *testing.T) {
	dir := t.TempDir()
	issuertest.NewAuthority(t, "own").WriteOwn(dir, "system.pem")
	file := filepath.Join(dir, "system.pem")
	t.Chdir(dir)
	for address, want := range map[string]struct {
		verifies       verification
		namesAuthority bool
	}{
		"host=h user=app sslrootcert=system":                                             {nameVerified, true},
		"host=h user=app sslrootcert = 'sys\\tem' sslmode=require":                       {nameVerified, true},
		"postgres://app@h/x?sslmode=verify-ca&sslrootcert=system":                        {nameVerified, true},
		"postgres://app@h/x?sslmode=verify-full&sslrootcert=" + file:                     {nameVerified, true},
		"postgres://app@h/x?sslmode=verify-ca&sslrootcert=system.pem":                    {chainVerified, true},
		"host=h user=app sslmode=verify-ca sslrootcert=system.pem":                       {chainVerified, true},
		"postgres://sslrootcert=system@h/x?sslmode=require":                              {unverified, false},
		"host=h user=app sslmode=require application_name='a sslrootcert=system'":        {unverified, false},
		"host=h user=app sslmode=verify-ca application_name=a\\ sslrootcert=system":      {chainVerified, false},
		"postgres://app@h/x?sslmode=verify-ca&sslrootcert=system&sslrootcert=":           {chainVerified, false},
		"postgres://app@h/x?sslmode=verify-ca&sslrootcert=system&sslrootcert=system.pem": {chainVerified, true},
		"host=h user=app sslrootcert=system sslmode=verify-ca sslrootcert='system.pem'":  {chainVerified, true},
		"postgres://app@h,other/x?sslmode=verify-full":                                   {nameVerified, false},
		"postgres://app@h/x?sslmode=verify-full&sslmode=prefer&sslrootcert=":             {unverified, false},
	} {
		a, err := readPostgresAddress(address)
		if err != nil || a.verifies != want.verifies || a.namesAuthority != want.namesAuthority {
			t.Errorf("%s: verifies %d, names an authority: %v, %v", address, a.verifies, a.namesAuthority, err)
		}
		config, err := pgxpool.ParseConfig(address)
		if err != nil || leastVerification(postgresTLS(config)) != want.verifies {
			t.Errorf("%s: the parser has %v, %v", address, config, err)
		}
	}
}
