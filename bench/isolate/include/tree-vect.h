/* Stands in for the header of gcc's vectorizer tests: the machine is assumed to have what they ask for. */
extern void abort (void);
extern void exit (int);

static void check_vect (void)
{
}
