/* Compiles patterns with PCRE2 and matches them: groups, look-around, back references, Unicode, an error. */
#include <stdio.h>
#include <string.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include "pcre2.h"

static void match(const char *pattern, const char *subject, unsigned options) {
  int error;
  PCRE2_SIZE at;
  pcre2_code *code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, options, &error, &at, NULL);
  if (!code) {
    printf("%s: error %d at %zu\n", pattern, error, at);
    return;
  }
  pcre2_match_data *data = pcre2_match_data_create_from_pattern(code, NULL);
  int found = pcre2_match(code, (PCRE2_SPTR)subject, strlen(subject), 0, 0, data, NULL);
  printf("%s: %d", pattern, found);
  for (int i = 0; i < found; i++)
    printf(" %zu-%zu", pcre2_get_ovector_pointer(data)[2 * i], pcre2_get_ovector_pointer(data)[2 * i + 1]);
  puts("");
  pcre2_match_data_free(data);
  pcre2_code_free(code);
}

int main(void) {
  match("(\\w+)@(?<host>[a-z.]+)", "mail to some.one@host.example now", 0);
  match("^(a|b*?)+(?=c)(?!cd)", "ababbc", PCRE2_CASELESS);
  match("(x)(y)?\\1{2,3}$", "zxxx", 0);
  match("\\p{Lu}[^\\d\\s]++", "ab \xc3\x84pfel 12", PCRE2_UTF | PCRE2_UCP);
  match("(unclosed", "", 0);
  return 0;
}
