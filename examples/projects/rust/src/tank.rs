pub struct Tank {
    level: u32,
    rate: u32,
    total: u32,
}

impl Tank {
    pub fn new(level: u32, rate: u32) -> Self {
        Tank { level, rate, total: 0 }
    }

    #[inline(never)]
    fn refill(&mut self) {
        self.level += self.rate * 3;
        self.total = 0;
    }

    #[inline(never)]
    fn drain(&mut self, amount: u32) -> u32 {
        let taken = amount.min(self.rate);
        self.level -= taken;
        taken
    }

    #[inline(never)]
    pub fn pass(&mut self, day: u32) -> u32 {
        if day == 3 {
            self.refill();
        } else {
            self.total += self.level;
        }
        let taken = self.drain(self.level);
        taken + self.total
    }
}
