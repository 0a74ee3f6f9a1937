/* Parses, changes and prints a JSON text with cJSON. */
#include <stdio.h>
#include <stdlib.h>
#include "cJSON.h"

int main(void) {
  const char *text = "{\"name\":\"fox\",\"legs\":4,\"weights\":[1.5,-2e3,0.25],\"tame\":false,\"home\":null,\"text\":\"a\\u00e4\\n\"}";
  cJSON *all = cJSON_Parse(text);
  cJSON *weights = cJSON_GetObjectItem(all, "weights");
  double sum = 0;
  cJSON *one;
  cJSON_ArrayForEach(one, weights) sum += one->valuedouble;
  cJSON_AddNumberToObject(all, "sum", sum);
  cJSON_DeleteItemFromObject(all, "home");
  char *printed = cJSON_Print(all);
  char *short_form = cJSON_PrintUnformatted(all);
  puts(printed);
  puts(short_form);
  free(printed);
  free(short_form);
  cJSON_Delete(all);
  return 0;
}
