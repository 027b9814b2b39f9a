package examples_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
)

// The databases, roles and users that docs/tenants.md creates.
const (
	guideDatabases = "helpdesk helpdesk_us"
	guideRoles     = "helpdesk_app helpdesk_reader helpdesk_agent"
	guideShop      = "DROP DATABASE IF EXISTS webshop; DROP USER IF EXISTS shop_app@'127.0.0.1'; DROP ROLE IF EXISTS shop_reader"
)

// useDatabases lets psql, createdb and mariadb of a transcript reach the servers of the tests, and removes what the
// transcript has left there.
func (f *folder) useDatabases() {
	t := f.t
	t.Helper()
	super, shop := os.Getenv("HATCHEL_TEST_POSTGRES_SUPERUSER"), os.Getenv("HATCHEL_TEST_MYSQL")
	if super == "" || shop == "" {
		t.Skip("HATCHEL_TEST_POSTGRES_SUPERUSER or HATCHEL_TEST_MYSQL is not set")
	}
	address, err := url.Parse(super)
	f.must(err)
	admin := f.desk(super)
	config, err := mysql.ParseDSN(shop)
	f.must(err)
	config.MultiStatements = true
	connector, err := mysql.NewConnector(config)
	f.must(err)
	db := sql.OpenDB(connector)
	remove := func() {
		for _, name := range strings.Fields(guideDatabases) {
			dropGuide(f, admin, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
		}
		for _, name := range strings.Fields(guideRoles) {
			dropGuide(f, admin, "DROP ROLE IF EXISTS "+name)
		}
		if _, err := db.ExecContext(context.Background(), guideShop); err != nil {
			t.Error(err)
		}
	}
	remove()
	t.Cleanup(func() {
		remove()
		db.Close()
	})
	host, port, _ := strings.Cut(config.Addr, ":")
	f.write(".my.cnf", fmt.Sprintf("[client]\nhost=%s\nport=%s\nuser=%s\npassword=%s\n", host, port, config.User, config.Passwd))
	f.env = append(f.env, "PGHOST="+address.Hostname(), "PGPORT="+address.Port(), "PGUSER="+address.User.Username(),
		"HELPDESK_DSN=postgres://helpdesk_app@"+address.Host+"/helpdesk?sslmode=disable",
		"HELPDESK_US_DSN=postgres://helpdesk_app@"+address.Host+"/helpdesk_us?sslmode=disable",
		"SHOP_DSN=mysql://shop_app:shop@"+config.Addr+"/webshop")
}

func dropGuide(f *folder, admin *pgx.Conn, statement string) {
	f.t.Helper()
	if _, err := admin.Exec(context.Background(), statement); err != nil {
		f.t.Error(err)
	}
}
