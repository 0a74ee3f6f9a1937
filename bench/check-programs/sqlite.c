/* Runs a hundred statements in a database in memory. */
#include <stdio.h>
#include "sqlite3.h"

static int print(void *unused, int n, char **values, char **names) {
  (void)unused;
  (void)names;
  for (int i = 0; i < n; i++)
    printf("%s|", values[i] ? values[i] : "null");
  printf("\n");
  return 0;
}

static void run(sqlite3 *db, const char *statement) {
  char *message = 0;
  if (sqlite3_exec(db, statement, print, 0, &message) != SQLITE_OK)
    printf("%s: %s\n", statement, message);
  sqlite3_free(message);
}

int main(int argc, char **argv) {
  sqlite3 *db;
  int rows = argc > 1 && argv[1][0] == 's' ? 6 : 90;
  if (sqlite3_open(":memory:", &db) != SQLITE_OK)
    return 1;
  run(db, "create table person(id integer primary key, name text, age int, weight real)");
  run(db, "create index by_age on person(age)");
  run(db, "begin");
  for (int i = 0; i < rows; i++) {
    char text[200];
    snprintf(text, sizeof text, "insert into person(name, age, weight) values('p%d', %d, %d.5)", i * 37 % 91, i * 17 % 60, 50 + i % 9);
    run(db, text);
  }
  run(db, "commit");
  run(db, "select age, count(*), avg(weight) from person where age > 20 group by age order by 2 desc, 1 limit 5");
  run(db, "update person set age = age + 1 where name like 'p1%'");
  run(db, "select a.name, b.name from person a join person b on a.age = b.age and a.id < b.id order by a.id limit 4");
  run(db, "delete from person where age between 10 and 20");
  run(db, "select count(*), sum(age), max(name), round(total(weight), 2) from person");
  run(db, "with recursive n(i) as (select 1 union all select i + 1 from n where i < 8) select group_concat(i * i) from n");
  sqlite3_close(db);
  return 0;
}
