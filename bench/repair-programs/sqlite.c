/* Runs a few statements in a database in memory; the arguments are the rows and a number they depend on. */
#include <stdio.h>
#include <stdlib.h>
#include "sqlite3.h"

static int row(void *unused, int columns, char **values, char **names) {
  (void)unused;
  (void)names;
  for (int i = 0; i < columns; i++)
    printf("%s ", values[i] ? values[i] : "null");
  printf("\n");
  return 0;
}

int main(int argc, char **argv) {
  int rows = argc > 1 ? atoi(argv[1]) : 12, salt = argc > 2 ? atoi(argv[2]) : 7;
  sqlite3 *db;
  if (sqlite3_open(":memory:", &db) != SQLITE_OK)
    return 1;
  sqlite3_exec(db, "create table t (a integer primary key, b text, c real); create index i on t (b);", 0, 0, 0);
  for (int n = 0; n < rows; n++) {
    char text[160];
    sqlite3_snprintf(sizeof text, text, "insert into t values (%d, 'word%d', %d.5)", n, n * salt % 11, n * n - salt);
    sqlite3_exec(db, text, 0, 0, 0);
  }
  sqlite3_exec(db, "select b, count(*), sum(c), max(a) from t group by b order by 2 desc, 1 limit 5", row, 0, 0);
  sqlite3_exec(db, "update t set c = c * 2 where b like 'word1%'; delete from t where a % 3 = 1;", 0, 0, 0);
  sqlite3_exec(db, "select x.a, y.b, upper(x.b) || hex(y.a) from t x join t y on x.b = y.b where x.a < y.a", row, 0, 0);
  sqlite3_close(db);
  return 0;
}
